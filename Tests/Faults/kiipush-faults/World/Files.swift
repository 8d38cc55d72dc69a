import Glibc

/// Something that keeps a fault from being tried, which is not what the test is about.
struct Trouble: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// What an error number means.
func text(of error: Int32 = errno) -> String { String(cString: strerror(error)) }

/// A directory that is gone with the value.
final class Folder {
    let path: String

    init() throws {
        var template = Array("/tmp/kiipush-faults.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Trouble("no directory in /tmp: \(text())") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Left there where `KIIPUSH_FAULTS_KEEP` is set, for who looks for why something broke.
    deinit { if getenv("KIIPUSH_FAULTS_KEEP") == nil { removeTree(path) } }
}

/// The names in a directory, in no order; nil when it cannot be read.
func names(in path: String) -> [String]? {
    guard let directory = opendir(path) else { return nil }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
            pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names
}

/// Removes a directory and all in it.
func removeTree(_ path: String) {
    guard let names = names(in: path) else {
        unlink(path)
        return
    }
    for name in names { removeTree("\(path)/\(name)") }
    rmdir(path)
}

/// All bytes of a file from an offset on; none where there is no file.
func contents(of path: String, from offset: Int = 0) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return [] }
    defer { close(file) }
    lseek(file, offset, SEEK_SET)
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = read(file, &part, part.count)
        guard count > 0 else { return bytes }
        bytes += part[..<count]
    }
}

/// The text of a file; none where there is no file.
func words(of path: String) -> String { String(decoding: contents(of: path), as: UTF8.self) }

/// Writes a file anew.
func write(_ bytes: some Collection<UInt8>, to path: String) throws {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw Trouble("\(path): \(text())") }
    defer { close(file) }
    let bytes = Array(bytes)
    guard write(file, bytes, bytes.count) == bytes.count else { throw Trouble("\(path): \(text())") }
}

/// Waits until something holds.
///
/// - Throws: that it did not within the time.
func wait(for what: String, within limit: Duration = .seconds(30), _ condition: () throws -> Bool) throws {
    let deadline = ContinuousClock.now + limit
    while try !condition() {
        guard .now < deadline else { throw Trouble("not within \(limit): \(what)") }
        usleep(2000)
    }
}

/// Says something on standard error, by its number: glibc's `stderr` is a variable, which Swift 6 takes for unsafe.
func complain(_ text: String) {
    let line = Array("kiipush-faults: \(text)\n".utf8)
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
