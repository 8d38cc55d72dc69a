#if SQLite
import CLibrary
import KiiPushSystem

/// The free disk space that a database needs in reserve, so that messages can always end: for the growth of the log
/// before its checkpoint, the growth of the database from that, and sixteen pages for the records.
struct DiskReserve: Sendable {
    let path: String
    /// The number of pages after which the log is checkpointed.
    let logPages: Int64
    /// The free bytes on a file's disk; nil if the system does not say.
    var free: @Sendable (String) -> Int64? = Self.freeBytes

    private static let pageSize: Int64 = 4096
    /// Each page in the log has a header.
    private static let logPageSize: Int64 = 4096 + 24

    /// The shortage for payloads of this size; nil if there is enough space.
    func lack(for bytes: Int, _ connection: inout Connection) throws(SQLiteError) -> InboxNoRoom? {
        guard let free = free(path) else { return nil }
        let pages = try connection.number("PRAGMA page_count") ?? 0
        let database = max(pages * Self.pageSize - FileStamp(path).size, 0)
        // One more transaction may be added to the pages after which the log is checkpointed.
        let log = max(logPages * Self.logPageSize * 3 / 2 - FileStamp(path + "-wal").size, 0)
        // Ended payloads leave free pages for new ones; the file does not shrink.
        let unused = (try connection.number("PRAGMA freelist_count") ?? 0) * Self.pageSize
        let growth = max(16 * Self.pageSize + Int64(bytes) * 5 / 4 + Self.pageSize - unused, 0)
        let needed = database + log + growth
        return free < needed ? InboxNoRoom(path: path, free: free, needed: needed) : nil
    }

    /// The free bytes on a file's disk; nil if the system does not say.
    static func freeBytes(_ path: String) -> Int64? {
        var system = statvfs()
        guard unsafe statvfs(path, &system) == 0 else { return nil }
        let (bytes, isTooMany) = Int64(clamping: system.f_bavail).multipliedReportingOverflow(
            by: Int64(clamping: system.f_frsize))
        return isTooMany ? .max : bytes
    }
}

/// An inbox refuses payloads because only the reserve of the disk is left, which messages need to end; it accepts again
/// when there is more.
public struct InboxNoRoom: Error, Sendable, Hashable, CustomStringConvertible {
    /// The database's path.
    public let path: String
    /// How many bytes are free on its disk.
    public let free: Int64
    /// How many bytes are needed.
    public let needed: Int64

    /// What is wrong and how to fix it, in words.
    public var description: String {
        "\(EscapedText(path)): no room is left on the disk but the reserve: \(free) bytes are free, and \(needed) are "
            + "needed to take more in; free some"
    }
}
#endif
