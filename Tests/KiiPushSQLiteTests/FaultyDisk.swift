#if SQLite
import CSQLite
import Glibc
import Synchronization

/// A disk whose n-th call fails: SQLite's own way to its files, with a fault put in front of it.
///
/// For a process of its own, since all databases that the process opens later go through it.
enum FaultyDisk {
    /// What fails, and how.
    struct Fault: Sendable, Hashable, CustomStringConvertible {
        /// The number of the first call that fails.
        var call: Int
        /// Whether all after it fail too.
        var lasts: Bool
        /// Whether the disk is full, so that reading goes on; else nothing works.
        var isFull: Bool

        var description: String { "\(isFull ? "full" : "broken") \(lasts ? "from" : "at") call \(call)" }
    }

    private struct State {
        var calls = 0
        var syncs = 0
        var fault: Fault?
        /// SQLite's own functions, by the address of those that stand in front of them.
        var real: [UInt: UInt] = [:]
    }

    private static let state = Mutex(State())

    /// Counts calls anew, and lets the fault come.
    static func plan(_ fault: Fault?) { state.withLock { ($0.calls, $0.syncs, $0.fault) = (0, 0, fault) } }

    /// How many calls there were since the plan.
    static var calls: Int { state.withLock { $0.calls } }

    /// How often `body` asks the disk, which does not fail, to confirm what was written.
    static func syncs(_ body: () async throws -> Void) async rethrows -> Int {
        plan(nil)
        try await body()
        return state.withLock { $0.syncs }
    }

    private enum Call { case read, write, sync }

    /// The code with which a call fails; nil when it is done.
    private static func failure(_ call: Call) -> Int32? {
        state.withLock { state in
            if state.fault?.isFull == true, call == .read { return nil }
            state.calls += 1
            if call == .sync { state.syncs += 1 }
            guard let fault = state.fault, state.calls == fault.call || fault.lasts && state.calls > fault.call else {
                return nil
            }
            switch call {
            case .read: return FaultyDisk.failedRead
            case .write: return fault.isFull ? SQLITE_FULL : FaultyDisk.failedWrite
            case .sync: return FaultyDisk.failedSync
            }
        }
    }

    // SQLite's extended codes, whose macros Swift does not import.
    private static let failedRead = SQLITE_IOERR | 1 << 8
    private static let failedWrite = SQLITE_IOERR | 3 << 8
    private static let failedSync = SQLITE_IOERR | 4 << 8
    private static let failedTruncation = SQLITE_IOERR | 6 << 8
    private static let failedDeletion = SQLITE_IOERR | 10 << 8
    private static let failedMapping = SQLITE_IOERR | 21 << 8

    // MARK: In front of SQLite's functions

    /// Puts itself in front of the system's files, for all databases that are opened from here on.
    static func install() {
        guard let real = unsafe sqlite3_vfs_find(nil), unsafe real.pointee.xOpen != nil else { fatalError("no files") }
        let mine = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        unsafe mine.initialize(to: real.pointee)
        unsafe mine.pointee.pNext = nil
        // For as long as the process lives, as all of this.
        unsafe mine.pointee.zName = UnsafePointer(strdup("kiipush-faulty"))
        unsafe mine.pointee.xOpen = { vfs, name, file, flags, outFlags in
            // SQLite asks for methods of a file that was not opened, too.
            unsafe file?.pointee.pMethods = nil
            if let code = FaultyDisk.failure(.write) { return code & 0xFF == SQLITE_FULL ? code : SQLITE_CANTOPEN }
            guard let next = unsafe sqlite3_vfs_find("unix"), let file = unsafe file else { return SQLITE_CANTOPEN }
            let code = unsafe next.pointee.xOpen(next, name, file, flags, outFlags)
            if let methods = unsafe file.pointee.pMethods {
                unsafe file.pointee.pMethods = FaultyDisk.inFront(of: methods)
            }
            return code
        }
        unsafe mine.pointee.xDelete = { vfs, name, sync in
            if FaultyDisk.failure(.write) != nil { return FaultyDisk.failedDeletion }
            guard let next = unsafe sqlite3_vfs_find("unix") else { return FaultyDisk.failedDeletion }
            return unsafe next.pointee.xDelete(next, name, sync)
        }
        unsafe sqlite3_vfs_register(mine, 1)
    }

    /// Methods that may fail, and else do what `methods` do.
    private static func inFront(of methods: UnsafePointer<sqlite3_io_methods>) -> UnsafePointer<sqlite3_io_methods> {
        let address = UInt(bitPattern: methods)
        if let known = state.withLock({ $0.real.first { $0.value == address }?.key }),
            let known = unsafe UnsafePointer<sqlite3_io_methods>(bitPattern: known)
        {
            return unsafe known
        }
        let made = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        unsafe made.initialize(to: methods.pointee)
        unsafe made.pointee.xRead = { file, bytes, count, offset in
            if let code = FaultyDisk.failure(.read) { return code }
            return unsafe FaultyDisk.real(file).xRead(file, bytes, count, offset)
        }
        unsafe made.pointee.xWrite = { file, bytes, count, offset in
            if let code = FaultyDisk.failure(.write) { return code }
            return unsafe FaultyDisk.real(file).xWrite(file, bytes, count, offset)
        }
        unsafe made.pointee.xTruncate = { file, size in
            if FaultyDisk.failure(.write) != nil { return FaultyDisk.failedTruncation }
            return unsafe FaultyDisk.real(file).xTruncate(file, size)
        }
        unsafe made.pointee.xSync = { file, flags in
            if let code = FaultyDisk.failure(.sync) { return code }
            return unsafe FaultyDisk.real(file).xSync(file, flags)
        }
        unsafe made.pointee.xShmMap = { file, region, size, extend, place in
            if FaultyDisk.failure(.write) != nil { return FaultyDisk.failedMapping }
            return unsafe FaultyDisk.real(file).xShmMap(file, region, size, extend, place)
        }
        state.withLock { $0.real[UInt(bitPattern: made)] = address }
        return unsafe UnsafePointer(made)
    }

    /// The methods that stand behind an open file's.
    private static func real(_ file: UnsafeMutablePointer<sqlite3_file>?) -> sqlite3_io_methods {
        let address = unsafe UInt(bitPattern: file?.pointee.pMethods)
        guard let behind = state.withLock({ $0.real[address] }),
            let methods = unsafe UnsafePointer<sqlite3_io_methods>(bitPattern: behind)
        else { fatalError("a file of another way") }
        return unsafe methods.pointee
    }
}
#endif
