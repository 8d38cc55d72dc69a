#if SQLite
import Foundation
import Synchronization

/// A directory for the databases of one test; gone with the value.
final class StateFolder: Sendable {
    let path: String
    private let last = Atomic<Int>(0)

    /// Makes one, below `parent` if that is there, else where temporary files are.
    init(parent: String? = nil) throws {
        let parent = parent.flatMap { FileManager.default.isWritableFile(atPath: $0) ? URL(filePath: $0) : nil }
        let url = (parent ?? FileManager.default.temporaryDirectory)
            .appending(path: "kiipush-sqlite-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of a state directory that is not there yet.
    func next() -> String { "\(path)/\(last.add(1, ordering: .relaxed).newValue)" }
}
#endif
