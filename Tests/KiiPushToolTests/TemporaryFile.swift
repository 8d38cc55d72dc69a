import Foundation

/// A file that a test writes, gone when the test lets go of it.
final class TemporaryFile {
    let path: String
    /// The folder of its own in which it lies.
    let directory: String

    convenience init(_ text: String, name: String = "payload.json") throws {
        try self.init(Array(text.utf8), name: name)
    }

    init(_ bytes: [UInt8], name: String = "payload.json") throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "kiipush-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: name)
        try Data(bytes).write(to: file)
        (path, directory) = (file.path, folder.path)
    }

    /// Makes the file longer with zeros that take no room on the disk.
    func lengthen(to count: UInt64) throws {
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.truncate(atOffset: count)
        try file.close()
    }

    /// What stands in the file now.
    func contents() throws -> String {
        // Not Data(contentsOf:), which loses 4 KiB for each empty file.
        let file = try FileHandle(forReadingFrom: URL(filePath: path))
        defer { file.closeFile() }
        return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }
}
