import Foundation
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
    @discardableResult
    func write(_ text: String, to name: String) throws -> String { try write(Array(text.utf8), to: name) }

    /// The same for bytes; beyond them, up to `size`, the file has a hole.
    ///
    /// - Returns: the file's path.
    @discardableResult
    func write(_ bytes: [UInt8], to name: String, mode: mode_t = 0o600, size: Int = 0) throws -> String {
        let descriptor = unsafe open(self[name], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw TestFailure(what: name, code: errno) }
        defer { close(descriptor) }
        guard unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count,
            size == 0 || ftruncate(descriptor, size) == 0
        else { throw TestFailure(what: name, code: errno) }
        return self[name]
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

/// A call that the test itself needed, and that failed.
struct TestFailure: Error {
    let what: String
    let code: Int32
}
