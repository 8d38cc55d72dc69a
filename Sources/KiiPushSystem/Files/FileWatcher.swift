import CLibrary
import Synchronization

/// Waits for a file to change: to be written, replaced, moved, removed, created, or given other permissions.
///
/// It watches the file's directory with `inotify`, since editors and careful programs replace the file. While that
/// directory does not exist it watches the nearest existing one above. Changes that the system does not report, such as
/// those behind a symbolic link or on a network's file system, are found by the next check, at the latest after
/// ``interval``. It has no thread, and three descriptors; any thread may call it.
package final class FileWatcher: Sendable {
    /// Why a wait ended.
    package enum Wake: Sendable, Hashable {
        /// The file may have changed since the last wait that returned this, or since the watcher was made.
        case changed
        /// The time has passed.
        case timedOut
        /// Somebody called ``FileWatcher/cancel()``.
        case cancelled
    }

    /// The watched path; the file need not exist.
    package let path: String

    /// The longest time between two checks.
    package let interval: Duration

    private let directory: String
    private let fileName: [UInt8]
    /// -1 if the system has none, so that only ``interval`` applies.
    let inotify: Int32
    private let isCancelled = Atomic<Bool>(false)
    /// Ended when it is cancelled; nil without a descriptor for it, so that a wait ends at the next check.
    private let signal: ThreadSignal?
    private let state: Mutex<State>

    private struct State {
        var watch: DirectoryWatch?
        var seen: FileStamp
    }

    /// Starts to watch; a change from now on ends the first wait.
    ///
    /// Each check resolves a relative path in the working directory. The interval is at least 10 ms.
    package init(path: String, interval: Duration = .seconds(2)) {
        self.path = path
        self.interval = max(interval, .milliseconds(10))
        directory = directoryName(path)
        fileName = Array(path.utf8.reversed().prefix { $0 != UInt8(ascii: "/") }.reversed())
        inotify = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        signal = try? ThreadSignal()
        state = Mutex(State(seen: FileStamp(path)))
        // The stamp is taken again after the watch is set, so that no change is missed in between.
        state.withLock { state in
            attach(&state)
            state.seen = FileStamp(path)
        }
    }

    deinit { if inotify >= 0 { close(inotify) } }

    /// Blocks until the file may have changed, the time has passed, or the watcher is cancelled.
    ///
    /// Zero only checks; a change takes precedence over the timeout.
    package func wait(timeout: Duration) -> Wake {
        let deadline = ContinuousClock.now + min(timeout, .seconds(1_000_000_000))
        while true {
            if isCancelled.load(ordering: .acquiring) { return .cancelled }
            if look() { return .changed }
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { return .timedOut }
            // The system ignores a descriptor of -1. A signal ends it early, which only causes one more check.
            var polled = [signal?.descriptor ?? -1, inotify].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            pollAll(&polled, for: min(left, interval))
        }
    }

    /// Ends all current and future waits.
    package func cancel() {
        isCancelled.store(true, ordering: .releasing)
        // Never cleared, so every poll sees it.
        signal?.end()
    }

    // MARK: Checking

    /// Whether the file may have changed since the last check.
    private func look() -> Bool {
        state.withLock { state in
            let isNamed = readEvents(&state)
            attach(&state)
            let stamp = FileStamp(path)
            defer { state.seen = stamp }
            return isNamed || stamp != state.seen
        }
    }

    /// Reads the system's events, at most 64 KiB; whether one named the file.
    private func readEvents(_ state: inout State) -> Bool {
        guard inotify >= 0 else { return false }
        var isNamed = false
        var buffer = [UInt8](repeating: 0, count: 8192)
        for _ in 0..<8 {
            let count = readOnce(inotify, into: &buffer)
            guard count > 0 else { break }
            for event in DirectoryEvent.all(in: buffer.prefix(count)) {
                if event.tells(of: fileName, in: state.watch) { isNamed = true }
                if let watch = state.watch, event.ends(watch) {
                    // One whose directory was moved away would stay.
                    inotify_rm_watch(inotify, watch.number)
                    state.watch = nil
                }
            }
        }
        return isNamed
    }

    /// Makes sure that the file's directory is watched, or the nearest existing one above.
    private func attach(_ state: inout State) {
        guard inotify >= 0 else { return }
        // Each iteration gets closer to a directory that is just being created; one that keeps changing is left to the
        // next check.
        for _ in 0..<16 {
            guard let (place, stamp) = nearestDirectory() else { return }
            if let watch = state.watch, watch.path == place, watch.stamp.isSameFile(as: stamp) { return }
            if let watch = state.watch { inotify_rm_watch(inotify, watch.number) }
            state.watch = nil
            let isOwn = place == directory
            let number = unsafe inotify_add_watch(
                inotify, place, isOwn ? DirectoryWatch.fileEvents : DirectoryWatch.directoryEvents)
            guard number >= 0 else {
                if errno == ENOENT || errno == ENOTDIR { continue }
                // As when all of a user's watches are in use: only checks find changes then.
                return
            }
            state.watch = DirectoryWatch(number: number, path: place, stamp: stamp, isOwn: isOwn)
        }
    }

    private func nearestDirectory() -> (path: String, stamp: FileStamp)? {
        var place = directory
        while true {
            let stamp = FileStamp(place)
            if stamp.isDirectory { return (place, stamp) }
            let above = directoryName(place)
            guard above != place else { return nil }
            place = above
        }
    }
}

/// A directory that the system watches.
struct DirectoryWatch {
    let number: Int32
    let path: String
    let stamp: FileStamp
    /// Whether it is the file's own directory, not one above.
    let isOwn: Bool

    private static let itself = IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR

    /// The events of a file's own directory; a created file counts when it has been written.
    static let fileEvents = UInt32(
        IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_ATTRIB | itself)

    /// The events of a directory above, in which the next one may appear.
    static let directoryEvents = UInt32(IN_CREATE | IN_MOVED_TO | itself)
}

struct DirectoryEvent {
    private let watch: Int32
    private let mask: UInt32
    private let name: ArraySlice<UInt8>

    /// The events of one `read` call, which returns only whole ones.
    static func all(in bytes: ArraySlice<UInt8>) -> [DirectoryEvent] {
        var events: [DirectoryEvent] = []
        var rest = bytes
        while rest.count >= 16 {
            let length = Int(number(rest, 12))
            let name = rest.dropFirst(16).prefix(length)
            events.append(
                DirectoryEvent(
                    watch: Int32(bitPattern: number(rest, 0)), mask: number(rest, 4), name: name.prefix { $0 != 0 }))
            rest = rest.dropFirst(16 + length)
        }
        return events
    }

    /// The number of four bytes, in the machine's own order.
    private static func number(_ bytes: ArraySlice<UInt8>, _ offset: Int) -> UInt32 {
        let four = bytes.dropFirst(offset).prefix(4)
        return UInt32(littleEndian: four.reversed().reduce(0) { $0 << 8 | UInt32($1) })
    }

    /// Whether it may concern a file of this name in the file's own directory; after lost events, it may.
    func tells(of fileName: [UInt8], in watched: DirectoryWatch?) -> Bool {
        if mask & UInt32(IN_Q_OVERFLOW) != 0 { return true }
        return watch == watched?.number && watched?.isOwn == true && name.elementsEqual(fileName)
    }

    /// Whether the watch is lost, or its directory has been moved.
    func ends(_ watched: DirectoryWatch?) -> Bool {
        watch == watched?.number && mask & UInt32(IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT) != 0
    }
}
