import Foundation

/// A file that a test writes, gone when the test lets go of it.
final class TemporaryFile {
    let path: String

    convenience init(_ text: String, name: String = "payload.json") throws {
        try self.init(Array(text.utf8), name: name)
    }

    init(_ bytes: [UInt8], name: String = "payload.json") throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "kiipush-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: name)
        try Data(bytes).write(to: file)
        path = file.path
    }

    deinit { try? FileManager.default.removeItem(at: URL(filePath: path).deletingLastPathComponent()) }
}
