import Glibc
import Synchronization

/// Waits for a file to change: to be written, replaced, moved, removed or made anew, or to get other permissions.
///
/// ```swift
/// let watcher = FileWatcher(path: "/etc/kiipush/rules.json")
/// while watcher.wait(timeout: .seconds(60)) != .cancelled { load() }
/// ```
///
/// It watches the file's directory by `inotify`, since editors and programs that write safely put a new file in the old
/// one's place. While there is no such directory it watches the nearest one above that exists. What the system does not
/// tell it of is found at the next look, at the latest after ``interval``: a change in place by a program that keeps
/// the file open, a new link, a change behind a symbolic link, and a directory above the file's own, or a link to it,
/// that was put in another's place. A file system that tells nothing, as those of a network, is only looked at.
///
/// A program with a loop of its own polls ``descriptor`` and then calls `wait(timeout: .zero)`. The watcher has no
/// thread; it has three descriptors, closed when it goes, and nothing that grows. Any thread may call it.
package final class FileWatcher: Sendable {
    /// Why a wait ended.
    package enum Wake: Sendable, Hashable {
        /// The file may have changed since the last wait that said so, or since the watcher was made.
        case changed
        /// The time is over.
        case timedOut
        /// Somebody called ``FileWatcher/cancel()``.
        case cancelled
    }

    /// The watched path; the file need not exist.
    package let path: String

    /// How long the watcher trusts the system to tell it of changes.
    package let interval: Duration

    private let directory: String
    private let fileName: [UInt8]
    private let inotify: Int32
    private let isCancelled = Atomic<Bool>(false)
    private let cancelReader: Int32
    private let cancelWriter: Int32
    private let state: Mutex<State>

    private struct State {
        var watch: DirectoryWatch?
        var failure: ErrorNumber?
        var seen: FileStamp
    }

    /// Begins to watch; a change from now on ends the first wait.
    ///
    /// - Parameters:
    ///   - path: the file's path; one that is not absolute is looked up in the working directory at each look.
    ///   - interval: how long at most a change stays unseen of which the system does not tell; at least 10 ms.
    package init(path: String, interval: Duration = .seconds(2)) {
        self.path = path
        self.interval = max(interval, .milliseconds(10))
        directory = directoryName(path)
        fileName = Array(path.utf8.reversed().prefix { $0 != UInt8(ascii: "/") }.reversed())
        let flags = Int32(IN_NONBLOCK | IN_CLOEXEC)
        inotify = inotify_init1(flags)
        let failure = inotify < 0 ? ErrorNumber.current : nil
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        _ = unsafe socketpair(AF_UNIX, kind, 0, &ends)
        (cancelReader, cancelWriter) = (ends[0], ends[1])
        state = Mutex(State(failure: failure, seen: FileStamp(path)))
        // The stamp is taken again behind the watch, so that no change falls between the two.
        state.withLock { state in
            attach(&state)
            state.seen = FileStamp(path)
        }
    }

    deinit {
        for descriptor in [inotify, cancelReader, cancelWriter] where descriptor >= 0 { close(descriptor) }
    }

    /// Readable when there may be a change; -1 where there is no `inotify`, and ``interval`` has to do.
    package var descriptor: Int32 { inotify }

    /// Why the system does not tell of changes, such as `ENOSPC` when all of a user's watches are in use, so that they
    /// are found by looking; nil when it does.
    package var failure: ErrorNumber? { state.withLock { $0.failure } }

    /// Blocks until the file may have changed, the time is over, or the watcher is cancelled.
    ///
    /// - Parameter timeout: the most time to wait; zero only looks.
    /// - Returns: why it returned; a change wins over the time's end.
    package func wait(timeout: Duration) -> Wake {
        let deadline = ContinuousClock.now + min(timeout, .seconds(1_000_000_000))
        while true {
            if isCancelled.load(ordering: .acquiring) { return .cancelled }
            if look() { return .changed }
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { return .timedOut }
            pollDescriptors(min(left, interval))
        }
    }

    /// Ends all waits, those to come too.
    package func cancel() {
        guard !isCancelled.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // Never read, so every poll sees it.
        var byte: UInt8 = 1
        _ = unsafe write(cancelWriter, &byte, 1)
    }

    private func pollDescriptors(_ limit: Duration) {
        // The system passes over a descriptor of -1.
        var polled = [
            pollfd(fd: cancelReader, events: Int16(POLLIN), revents: 0),
            pollfd(fd: inotify, events: Int16(POLLIN), revents: 0),
        ]
        let milliseconds = Int32(min((limit / .milliseconds(1)).rounded(.up), 1_000_000_000))
        // A signal ends it early, which is one look more.
        _ = unsafe poll(&polled, 2, milliseconds)
    }

    // MARK: Looking

    /// Whether the file may have changed since the last look.
    private func look() -> Bool {
        state.withLock { state in
            let isNamed = readEvents(&state)
            attach(&state)
            let stamp = FileStamp(path)
            defer { state.seen = stamp }
            return isNamed || stamp != state.seen
        }
    }

    /// Takes out what the system has told, at most 64 KiB of it; whether it named the file.
    private func readEvents(_ state: inout State) -> Bool {
        guard inotify >= 0 else { return false }
        var isNamed = false
        var buffer = [UInt8](repeating: 0, count: 8192)
        for _ in 0..<8 {
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                retrying { unsafe read(inotify, bytes.baseAddress, bytes.count) }
            }
            guard count > 0 else { break }
            for event in DirectoryEvent.all(in: buffer.prefix(count)) {
                if event.tells(of: fileName, in: state.watch) { isNamed = true }
                if event.ends(state.watch) { state.watch = nil }
            }
        }
        return isNamed
    }

    /// Sees to it that the file's directory is watched, or the nearest one above that exists.
    private func attach(_ state: inout State) {
        guard inotify >= 0 else { return }
        // Each turn comes nearer to a directory that is just being made; one that comes and goes is for the next look.
        for _ in 0..<16 {
            guard let (place, stamp) = nearestDirectory() else { return }
            if let watch = state.watch, watch.path == place, watch.stamp.isSameFile(as: stamp) { return }
            if let watch = state.watch { inotify_rm_watch(inotify, watch.number) }
            state.watch = nil
            let isOwn = place == directory
            let number = unsafe inotify_add_watch(
                inotify, place, isOwn ? DirectoryWatch.fileEvents : DirectoryWatch.directoryEvents)
            guard number >= 0 else {
                let error = ErrorNumber.current
                if error.rawValue == ENOENT || error.rawValue == ENOTDIR { continue }
                state.failure = error
                return
            }
            state.watch = DirectoryWatch(number: number, path: place, stamp: stamp, isOwn: isOwn)
            state.failure = nil
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
