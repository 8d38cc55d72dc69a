import Foundation
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
