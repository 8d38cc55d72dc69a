import CLibrary
package import KiiPush
import KiiPushSystem
import Synchronization

/// A file that records payloads as they arrive: the corpus that `kiipush rules diff` reads, one step a line.
///
/// `{"at":"1500ms","transport":"mqtt","payload":{…}}`; a payload that does not fit unchanged into one line of JSON is
/// stored as `raw`, and one that is not UTF-8 is skipped. The transport's message id is not kept.
///
/// The file has mode 0600, because it contains user data. It never exceeds its limit: before a line that would, it is
/// renamed to `path.1`, replacing an earlier one, and a new one begins. So both together hold the newest payloads,
/// within twice the limit. Times are those of arrival, counted from the file's first line, and never go backwards; a
/// process that finds a file continues after its last line. Writes are not synced to disk, so a power failure may lose
/// the last lines; a partial line is removed when the file is opened again. A symbolic link stays, and the file that it
/// names is written; a device or a pipe is an error (`EINVAL`), and stays.
package final class CaptureFile: Sendable {
    package let path: String

    /// The most bytes of the file.
    package let limit: Int

    private let clock: any ReceiverClock
    private let state = Mutex(State())

    private struct State {
        var file: OpenCapture?
        /// The clock's time at the file's time 0.
        var beginning = MonotonicInstant(nanoseconds: 0)
        /// The time of the last line.
        var last = Duration.zero
    }

    /// Names a file of at most `limit` bytes, at least 1,024; the first payload opens it.
    ///
    /// The clock is the receiver's, for payloads without a time of arrival.
    package init(path: String, limit: Int = 16 << 20, clock: any ReceiverClock = SystemClock()) {
        self.path = path
        self.limit = max(limit, 1024)
        self.clock = clock
    }

    /// Records a payload as received.
    ///
    /// - Throws: ``WriteError``; earlier lines are unchanged. `EFBIG`: its line alone exceeds the limit.
    package func add(_ payload: RawPayload) throws(WriteError) {
        do throws(ErrorNumber) {
            try state.withLock { state throws(ErrorNumber) in
                let arrival = payload.arrivedAt ?? clock.now
                if state.file?.isInPlace != true { try open(&state, at: arrival) }
                var time = max(state.beginning.duration(to: arrival), state.last)
                guard var line = CaptureLine.line(payload, at: time) else { return }
                guard line.utf8.count <= limit else { throw ErrorNumber(rawValue: EFBIG) }
                if let size = state.file?.size, size + line.utf8.count > limit {
                    // Of a symbolic link, the file that it names.
                    let path = try fileToReplace(path) ?? path
                    try renameFile(path, to: "\(path).1")
                    try open(&state, at: arrival)
                    time = .zero
                    line = CaptureLine.line(payload, at: time) ?? line
                }
                try state.file?.append(line)
                state.last = time
            }
        } catch {
            throw WriteError(path: path, number: error)
        }
    }

    private func open(_ state: inout State, at time: MonotonicInstant) throws(ErrorNumber) {
        state.file = nil
        let file = try OpenCapture(path)
        (state.beginning, state.last) = (time.advanced(by: .zero - file.lastTime), file.lastTime)
        state.file = file
    }
}
