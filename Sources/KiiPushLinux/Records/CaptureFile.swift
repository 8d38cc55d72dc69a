import Glibc
package import KiiPush
import Synchronization

/// A file that takes down payloads as they come: the corpus that `kiipush rules diff` reads, a step a line.
///
/// `{"at":"1500ms","transport":"mqtt","payload":{…}}`; a payload that does not fit into one line of JSON as it is
/// stands there as `raw`, and one that is no UTF-8 cannot be written and is left out. The transport's message id is not
/// kept.
///
/// The file has mode 0600, for it holds what users sent. It is never larger than its limit: before a line that would
/// make it so, it becomes `path.1`, in place of an earlier one, and a new one begins. So both together hold the newest
/// payloads, within twice the limit. Times are those of arrival and count from the file's first line, never backwards;
/// a process that finds a file goes on behind its last line. Nothing is brought to the disk by force, so a loss of
/// power may cost the last lines; one that was written in part is removed when the file is opened again.
package final class CaptureFile: Sendable {
    /// The file's path.
    package let path: String

    /// The most bytes of the file.
    package let limit: Int

    private let clock: any ReceiverClock
    private let state = Mutex(State())

    private struct State {
        var file: OpenCapture?
        /// When the file's time was zero, on the clock.
        var beginning = MonotonicInstant(nanoseconds: 0)
        /// The time of the last line.
        var last = Duration.zero
    }

    /// Names a file; it is opened with the first payload.
    ///
    /// - Parameters:
    ///   - path: the file's path.
    ///   - limit: the most bytes of the file, at least 1,024.
    ///   - clock: the receiver's clock; tells the times of payloads that do not say when they arrived.
    package init(path: String, limit: Int = 16 << 20, clock: any ReceiverClock = SystemClock()) {
        self.path = path
        self.limit = max(limit, 1024)
        self.clock = clock
    }

    /// Takes down a payload.
    ///
    /// - Parameter payload: the payload as received.
    /// - Throws: ``WriteError``; what was taken down before is still there. `EFBIG`: its line alone is beyond the
    ///   limit.
    package func add(_ payload: RawPayload) throws(WriteError) {
        do throws(ErrorNumber) {
            try state.withLock { state throws(ErrorNumber) in
                let arrival = payload.arrivedAt ?? clock.now
                if state.file?.isInPlace != true { try open(&state, at: arrival) }
                var time = max(state.beginning.duration(to: arrival), state.last)
                guard var line = CaptureLine.line(payload, at: time) else { return }
                guard line.utf8.count <= limit else { throw ErrorNumber(rawValue: EFBIG) }
                if let size = state.file?.size, size + line.utf8.count > limit {
                    guard unsafe rename(path, "\(path).1") == 0 else { throw .current }
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

    /// The same, for those who cannot throw.
    ///
    /// - Parameters:
    ///   - payload: the payload as received.
    ///   - trouble: called with the error when it cannot be taken down.
    package func add(_ payload: RawPayload, _ trouble: (any Error) -> Void) {
        do throws(WriteError) { try add(payload) } catch { trouble(error) }
    }

    private func open(_ state: inout State, at time: MonotonicInstant) throws(ErrorNumber) {
        state.file = nil
        let file = try OpenCapture(path)
        (state.beginning, state.last) = (time.advanced(by: .zero - file.lastTime), file.lastTime)
        state.file = file
    }
}
