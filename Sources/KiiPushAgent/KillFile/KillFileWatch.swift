package import KiiPush
package import KiiPushSystem
import Synchronization

/// Keeps a loop guard's kill switch in step with a ``KillFile`` while the program runs.
///
/// Each check reads the file, and computes the remaining time of each kill from the wall clock, so a clock that jumps,
/// as when a device learns the time, ends or begins kills at the next check. A missing file has no kills. If a file
/// cannot be read, the last list stays in force.
///
/// The file takes precedence: a target that it lists is off again at the next check, even if code has re-enabled it.
/// Kills that code has set with `LoopGuard.kill(_:for:)` are not affected.
package final class KillFileWatch: Sendable {
    package let file: KillFile

    private let loopGuard: LoopGuard
    private let wallClock: @Sendable () -> UTCDate
    private let report: @Sendable (String) -> Void
    private let state = Mutex(State())

    private struct State {
        var kills: [KillTarget: UTCDate] = [:]
        /// Why the last check could not read the file.
        var failure: KillFileError?
        /// The last reported problems, and the file's state at that time.
        var reported: [String] = []
        var reportedOf: FileStamp?
    }

    /// Makes a watch; it reads nothing before the first check.
    ///
    /// `report` gets each problem, on one line, once for each change of the file; it must not check.
    package init(
        _ file: KillFile, for loopGuard: LoopGuard,
        wallClock: @escaping @Sendable () -> UTCDate = { .now }, report: @escaping @Sendable (String) -> Void
    ) {
        (self.file, self.loopGuard) = (file, loopGuard)
        (self.wallClock, self.report) = (wallClock, report)
    }

    /// Why the file cannot be read, so that no new kill applies; nil if the last check has read it.
    package var failure: KillFileError? { state.withLock { $0.failure } }

    /// Reads the file and sets the guard's kills, now.
    package func look() {
        // Under the lock, so that the later of two concurrent checks wins.
        let troubles = state.withLock { state in
            let stamp = FileStamp(file.path)
            let troubles = read(&state)
            let now = wallClock()
            loopGuard.setKills(state.kills.mapValues { now.duration(to: $0) }.filter { $0.value > .zero })
            if troubles == state.reported, stamp == state.reportedOf { return [] as [String] }
            (state.reported, state.reportedOf) = (troubles, stamp)
            return troubles
        }
        for trouble in troubles { report(trouble) }
    }

    /// Applies the file's contents; returns its problems.
    private func read(_ state: inout State) -> [String] {
        do throws(KillFileError) {
            let contents = try file.read()
            (state.kills, state.failure) = (contents.kills, nil)
            return contents.problems.map(\.description)
        } catch {
            state.failure = error
            return [error.description]
        }
    }
}
