#if SQLite
import CLibrary
import KiiPushSystem

/// A file beside a database that keeps disk space for its next opening.
///
/// An agent that starts on a full disk must be able to end what waits, and a command to drop dead letters, which frees
/// space; both first need some. So opening removes the file from a full disk, and closing makes it again, from the
/// space that the log had.
struct SpareFile: Sendable {
    static let size: Int64 = 262_144

    let database: String
    /// The free bytes on a file's disk; nil if the system does not say.
    var free: @Sendable (String) -> Int64? = DiskReserve.freeBytes

    private var path: String { "\(database).spare" }

    /// Removes the file if the disk is full.
    func giveBack() {
        guard let free = free(database), free < Self.size else { return }
        unsafe unlink(path)
    }

    /// Makes the file unless it exists, or fewer bytes are free; without it, opening just needs a disk that has room.
    func make(ifFree least: Int64) {
        guard let free = free(database), free >= least else { return }
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW
        let descriptor = retrying { unsafe open(path, flags, 0o600) }
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        giveToOwnerOfDirectory(of: path, descriptor)
        // The database may have grown into it.
        for size in [Self.size, Self.size / 2, Self.size / 4] where posix_fallocate(descriptor, 0, off_t(size)) == 0 {
            return
        }
        unsafe unlink(path)
    }

    /// Whether there is room for the index of the log.
    ///
    /// SQLite makes it with holes where the disk's blocks are smaller than 4 KiB, maps it, and fills it while it opens
    /// a database. If the disk has no room for that, the system ends the process.
    var hasRoomForIndex: Bool {
        var system = statvfs()
        guard unsafe statvfs(database, &system) == 0, system.f_frsize < 4096 else { return true }
        return free(database) ?? .max >= 65_536
    }
}
#endif
