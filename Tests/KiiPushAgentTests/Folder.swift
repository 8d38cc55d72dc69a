import Foundation
import KiiPushAgent
import KiiPushSystem
import Glibc

/// A folder of a test that makes, moves and removes things in it; gone with the value, with all that it holds.
final class Folder: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/kiipush-tests-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw TestFailure(what: "mkdtemp", code: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    subscript(name: String) -> String { "\(path)/\(name)" }

    /// The names of what lies in it, sorted.
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }

    /// Writes a file in its place, as `cat >` does.
    func write(_ text: String, to name: String) throws {
        let descriptor = unsafe open(self[name], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw TestFailure(what: name, code: errno) }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw TestFailure(what: name, code: errno)
        }
    }

    /// Puts a new file in the old one's place, as an editor does.
    func replace(_ name: String, with text: String) throws {
        try write(text, to: "\(name).new")
        try move("\(name).new", to: name)
    }

    func move(_ name: String, to other: String) throws {
        guard unsafe rename(self[name], self[other]) == 0 else { throw TestFailure(what: name, code: errno) }
    }

    func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: self[name]) }

    func makeFolder(_ name: String) throws {
        guard unsafe mkdir(self[name], 0o700) == 0 else { throw TestFailure(what: name, code: errno) }
    }

    func link(_ name: String, to target: String) throws {
        guard unsafe symlink(target, self[name]) == 0 else { throw TestFailure(what: name, code: errno) }
    }

    // Not by Foundation, which loses 4 KiB for each empty file.
    func read(_ name: String) throws -> String {
        String(decoding: try ByteReader(path: self[name]).readAll(limit: 1 << 24), as: UTF8.self)
    }
}
