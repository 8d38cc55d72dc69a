import Foundation
import KiiPush
import KiiPushContracts
import KiiPushDelivery
import Synchronization
import Testing

@testable import KiiPushTestSupport

/// The transport of the guide to an agent of your own, which readers are told to copy.
@Suite("The guide's transport", .timeLimit(.minutes(2)))
struct FolderTransportTests {
    @Test("the guide shows it as it is here, from its first line to its last")
    func quoted() throws {
        let code = try Project.text("Tests/KiiPushTests/Documentation/FolderTransport.swift")
        let guide = try Project.text("Sources/KiiPush/KiiPush.docc/YourOwnAgent.md")
        #expect(guide.contains("cat > Sources/FolderTransport.swift <<'END'\n\(code)END\n"))
    }

    @Test("it meets the guarantees of a transport, with an inbox in memory too")
    func contract() async { await TransportContract { try FolderBench() }.verify() }
}

/// Who puts files into the transport's folder, and sees them go.
private final class FolderBench: TransportBench {
    let transport: any PushTransport
    let endsWhenCut = false
    private let folder: Folder
    private let count = Mutex(0)

    init() throws {
        folder = try Folder()
        try folder.makeFolder("pushes")
        transport = FolderTransport(folder: folder["pushes"])
    }

    func send(_ payloads: [[UInt8]]) throws {
        for payload in payloads {
            let number = count.withLock { count in
                count += 1
                return count
            }
            try folder.write(payload, to: "push")
            try folder.move("push", to: "pushes/\(1_000_000 + number)")
        }
    }

    func answers() throws -> TransportAnswers {
        var answers = TransportAnswers()
        let left = try FileManager.default.contentsOfDirectory(atPath: folder["pushes"])
        answers.acknowledged = count.withLock { $0 } - left.count
        return answers
    }

    func cut() {}
}
