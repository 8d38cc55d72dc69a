import Foundation
import KiiPush
@_spi(Hostile) import KiiPushTesting
import Testing

/// An input that a fuzz program begins with, or once found something with.
struct KeptInput: Sendable, CustomTestStringConvertible {
    /// The fuzz program that it is for, which is the name of its folder.
    let target: String
    let name: String
    let bytes: [UInt8]

    var testDescription: String { "\(target)/\(name)" }

    /// Checks what the fuzz program checks.
    ///
    /// - Throws: `Invariants.Broken` when it does not hold, and `UnknownTarget` for a program that is not listed here.
    func check() throws {
        switch target {
        case "FuzzDecode": try Invariants.check(payload: bytes)
        case "FuzzURI": try Invariants.check(uri: String(decoding: bytes, as: UTF8.self))
        case "FuzzQuickBlox": try Invariants.check(quickBloxEvent: String(decoding: bytes, as: UTF8.self))
        default: throw UnknownTarget(name: target)
        }
    }

    struct UnknownTarget: Error {
        let name: String
    }

    /// The folder of the fuzz programs.
    static let folder = Project.root.appending(path: "Tests/Fuzz")

    /// All that are kept, in both folders.
    static let all: [KeptInput] = ["Corpus", "Found"].flatMap { kept in
        contents(of: folder.appending(path: kept)).flatMap { target in
            contents(of: target).compactMap { file in
                guard let data = try? Data(contentsOf: file) else { return nil }
                return KeptInput(target: target.lastPathComponent, name: file.lastPathComponent, bytes: Array(data))
            }
        }
    }

    /// The names of the fuzz programs.
    static let programs = contents(of: folder.appending(path: "Sources")).map(\.lastPathComponent)

    /// What lies in a folder, in order, without what is hidden.
    private static func contents(of folder: URL) -> [URL] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { !$0.hasPrefix(".") }.sorted().map { folder.appending(path: $0) }
    }
}

/// What a fuzzer found stays found, without a fuzzer.
@Suite("Inputs that fuzz programs keep")
struct KeptInputTests {
    @Test("each kept input holds the invariants of its fuzz program", arguments: KeptInput.all)
    func kept(_ input: KeptInput) throws { try input.check() }

    @Test("each fuzz program has kept inputs")
    func complete() {
        #expect(KeptInput.programs.count >= 3)
        #expect(Set(KeptInput.programs) == Set(KeptInput.all.map(\.target)))
    }
}

/// Payloads of every kind with a mistake at each of their bytes; what takes several, a fuzzer finds.
struct DamagedPayloadTests {
    @Test(
        "a byte that is replaced, left out or doubled, or a bit that flips, breaks no invariant",
        arguments: PayloadFixture.matrix.map(\.payload))
    func changed(_ payload: RawPayload) throws {
        for index in payload.bytes.indices {
            let nasty = Array("\"\\{}[],:-.e0u ".utf8) + [0x00, 0x0A, 0x1F, 0x80, 0xC3, 0xED, 0xF0, 0xFF]
            for other in nasty + (0..<8).map({ payload.bytes[index] ^ 1 << $0 }) {
                var damaged = payload
                damaged.bytes[index] = other
                try Invariants.check(damaged)
            }
            var (shorter, longer) = (payload, payload)
            shorter.bytes.remove(at: index)
            longer.bytes.insert(payload.bytes[index], at: index)
            for damaged in [shorter, longer] { try Invariants.check(damaged) }
        }
    }

    @Test("a payload that is cut anywhere is an error at its end", arguments: PayloadFixture.matrix.map(\.payload))
    func cut(_ payload: RawPayload) throws {
        for length in payload.bytes.indices {
            let cut = RawPayload(Array(payload.bytes[..<length]), transport: payload.transport)
            let error = #expect(throws: DecodeError.self) { try PushMessage(cut) }
            #expect(error?.code == (length == 0 ? .empty : .unexpectedEnd) && error?.offset == length)
        }
    }
}
