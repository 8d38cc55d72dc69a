#if SQLite
import Glibc
import KiiPushLinux

/// How much room a disk must have beside what a database holds, so that no message ever needs more room to end.
///
/// That is what the log may still grow by until it is taken into the database, what the database then grows by, and
/// sixteen pages for the notes.
struct DiskReserve: Sendable {
    let path: String
    /// After how many pages the log is taken into the database.
    let logPages: Int64
    /// How many bytes are free on the disk of a file; nil where the system does not say.
    var free: @Sendable (String) -> Int64? = Self.freeBytes

    private static let pageSize: Int64 = 4096
    /// A page in the log has a head.
    private static let logPageSize: Int64 = 4096 + 24

    /// What is lacking for payloads of so many bytes; nil when there is room.
    func lack(for bytes: Int, _ connection: inout Connection) throws(SQLiteError) -> InboxNoRoom? {
        guard let free = free(path) else { return nil }
        let pages = try connection.number("PRAGMA page_count") ?? 0
        let database = max(pages * Self.pageSize - Self.size(path), 0)
        // One transaction more may come on top of the pages after which it is emptied.
        let log = max(logPages * Self.logPageSize * 3 / 2 - Self.size(path + "-wal"), 0)
        // What has ended has left its pages to what comes; the file does not shrink.
        let unused = (try connection.number("PRAGMA freelist_count") ?? 0) * Self.pageSize
        let growth = max(16 * Self.pageSize + Int64(bytes) * 5 / 4 + Self.pageSize - unused, 0)
        let needed = database + log + growth
        return free < needed ? InboxNoRoom(path: path, free: free, needed: needed) : nil
    }

    private static func size(_ path: String) -> Int64 {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    private static func freeBytes(_ path: String) -> Int64? {
        var system = statvfs()
        guard unsafe statvfs(path, &system) == 0 else { return nil }
        let (bytes, isTooMany) = Int64(clamping: system.f_bavail).multipliedReportingOverflow(
            by: Int64(clamping: system.f_frsize))
        return isTooMany ? .max : bytes
    }
}

/// An inbox takes no payloads in while the disk has no room but the reserve, with which messages end; it does again
/// once there is more.
public struct InboxNoRoom: Error, Sendable, Hashable, CustomStringConvertible {
    /// The database's path.
    public let path: String
    /// How many bytes are free on its disk.
    public let free: Int64
    /// How many it takes.
    public let needed: Int64

    /// What is wrong and what to do, in words.
    public var description: String {
        "\(EscapedText(path)): no room is left on the disk but the reserve: \(free) bytes are free, and \(needed) are "
            + "needed to take more in; free some"
    }
}
#endif
