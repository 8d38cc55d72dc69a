import Synchronization
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport

@Suite("The socket of an agent's commands", .timeLimit(.minutes(5)))
struct ControlSocketTests {
    @Test("a reader that rests holds up no command, and gets its whole answer")
    func resting() async throws {
        let folder = try Folder()
        let control = ControlSocket(state: folder.path)
        // More than the system buffers.
        let lines = (0..<64).map { "\($0) " + String(repeating: "x", count: 65_536) }
        let (ready, listen) = AsyncStream.makeStream(of: Void.self)
        let (performed, perform) = AsyncStream.makeStream(of: Void.self)
        let serving = Task {
            try await control.serve(listening: { listen.finish() }) { _, reply in
                for line in lines { reply.print(line) }
                perform.finish()
                return 7
            }
        }
        for await _ in ready {}
        let gate = ThreadSemaphore()
        let heard = Mutex<[String]>([])
        let hear: @Sendable (String) -> Void = { line in
            while !gate.wait(for: .seconds(20)) {}
            gate.raise()
            heard.withLock { $0.append(line) }
        }
        async let answer = control.ask(["show"], print: hear, error: hear)
        for await _ in performed {}
        #expect(heard.withLock { $0.isEmpty })
        gate.raise()
        #expect(try await answer == 7)
        #expect(heard.withLock { $0 } == lines)
        serving.cancel()
        try await serving.value
    }
}
