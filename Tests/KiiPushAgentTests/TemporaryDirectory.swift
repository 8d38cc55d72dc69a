import Glibc

/// A directory for one test's files; gone with the value.
final class TemporaryDirectory {
    let path: String
    private var files: [String] = []

    init() throws {
        var template = Array("/tmp/kiipush-tests-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw TestFailure(what: "mkdtemp", code: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        for file in files { unsafe unlink(file) }
        unsafe rmdir(path)
    }

    /// The path of a file that the test will make.
    func file(_ name: String) -> String {
        let file = "\(path)/\(name)"
        files.append(file)
        return file
    }

    /// Makes a file, of `size` bytes in all if that is more; what was not written is a hole.
    @discardableResult
    func write(_ bytes: [UInt8], to name: String, mode: mode_t = 0o600, size: Int = 0) throws -> String {
        let file = file(name)
        let descriptor = unsafe open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw TestFailure(what: file, code: errno) }
        defer { close(descriptor) }
        guard unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count,
            size == 0 || ftruncate(descriptor, size) == 0
        else { throw TestFailure(what: file, code: errno) }
        return file
    }
}

/// A call that the test itself needed, and that failed.
struct TestFailure: Error {
    let what: String
    let code: Int32
}
