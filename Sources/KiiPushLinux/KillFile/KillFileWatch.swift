public import KiiPush
import Synchronization

/// Keeps a loop guard's kill switch as a ``KillFile`` says, while the program runs.
///
/// ```swift
/// let watch = KillFileWatch(KillFile(directory: "/var/lib/agent"), for: loopGuard) { trouble in print(trouble) }
/// let following = Task { await watch.run() }
/// ```
///
/// The file is read when it changes, and at every ``interval`` at the latest. Each look counts anew how long each kill
/// has left by the wall clock, so that a clock that jumps, as when a device learns the time, ends or begins kills
/// within an interval. A missing file is one without kills. A file that cannot be read leaves the last list in force.
///
/// The file is what counts: a target that it lists is off again at the next look, even if code has revived it.
/// What code switched off by `LoopGuard.kill(_:for:)` is none of the file's business, and stays.
public final class KillFileWatch: Sendable {
    /// What is wrong with a kill file.
    @nonexhaustive
    public enum Trouble: Error, Sendable, Hashable, CustomStringConvertible {
        /// The file cannot be read, and what it said before still counts.
        case unreadable(KillFileError)
        /// A part of the file cannot be read; the rest counts.
        case problem(KillFileProblem)

        /// One line for a person, with the place in the file where there is one.
        public var description: String {
            switch self {
            case .unreadable(let error): "\(error)"
            case .problem(let problem): "\(problem)"
            }
        }
    }

    /// The file.
    public let file: KillFile

    /// How often the file is looked at when nothing is known to have changed.
    public let interval: Duration

    private let loopGuard: LoopGuard
    private let watcher: FileWatcher
    private let wallClock: @Sendable () -> UTCDate
    private let report: @Sendable (Trouble) -> Void
    private let state = Mutex(State())

    private struct State {
        var kills: [KillTarget: UTCDate] = [:]
        /// What was reported last, and of which state of the file.
        var reported: [Trouble] = []
        var reportedOf: FileStamp?
    }

    /// Makes a watch; nothing is read before the first look.
    ///
    /// - Parameters:
    ///   - file: the file.
    ///   - loopGuard: the guard whose kills are set.
    ///   - interval: how often the file is looked at; at least 10 ms.
    ///   - wallClock: tells the time by which kills end.
    ///   - report: called with all that is wrong, once for each change of the file, by whoever looks; keep it short,
    ///     and do not look from there.
    public init(
        _ file: KillFile, for loopGuard: LoopGuard, interval: Duration = .seconds(2),
        wallClock: @escaping @Sendable () -> UTCDate = { .now }, report: @escaping @Sendable (Trouble) -> Void
    ) {
        self.file = file
        self.loopGuard = loopGuard
        self.wallClock = wallClock
        self.report = report
        watcher = FileWatcher(path: file.path, interval: interval)
        self.interval = watcher.interval
    }

    // MARK: Looking

    /// Reads the file and sets the guard's kills, now.
    public func look() {
        // Under the lock, so that of two looks at a time the later one counts.
        let troubles = state.withLock { state in
            let stamp = FileStamp(file.path)
            let troubles = read(&state)
            let now = wallClock()
            loopGuard.setKills(state.kills.mapValues { now.duration(to: $0) }.filter { $0.value > .zero })
            if troubles == state.reported, stamp == state.reportedOf { return [Trouble]() }
            (state.reported, state.reportedOf) = (troubles, stamp)
            return troubles
        }
        for trouble in troubles { report(trouble) }
    }

    /// Takes over what the file says; returns what is wrong with it.
    private func read(_ state: inout State) -> [Trouble] {
        do throws(KillFileError) {
            let contents = try file.read()
            state.kills = contents.kills
            return contents.problems.map { .problem($0) }
        } catch {
            return [.unreadable(error)]
        }
    }

    /// Blocks until the file has changed, an interval is over or the time is, and looks.
    ///
    /// For a program with a loop of its own; one that polls ``descriptor`` calls it with a timeout of zero then, and at
    /// every interval.
    ///
    /// - Parameter timeout: the most time to wait.
    /// - Returns: false once the watch has been stopped.
    @discardableResult
    public func wait(timeout: Duration) -> Bool {
        if watcher.wait(timeout: min(timeout, interval)) == .cancelled { return false }
        look()
        return true
    }

    /// Readable when the file may have changed; -1 where the system does not tell.
    public var descriptor: Int32 { watcher.descriptor }

    // MARK: Following

    /// Looks, and then at every change, until the task is cancelled or ``stop()`` is called, which ends the watch for
    /// good.
    ///
    /// It has a thread of its own meanwhile, and holds up no other task.
    public func run() async {
        await withTaskCancellationHandler {
            await withThread { self.follow() }
        } onCancel: {
            stop()
        }
    }

    /// The same, for a thread that has nothing else to do: blocks until ``stop()``.
    public func follow() {
        look()
        while wait(timeout: interval) {}
    }

    /// Ends ``run()``, ``follow()`` and ``wait(timeout:)``, and those to come; the kills stay as they were set.
    public func stop() { watcher.cancel() }
}
