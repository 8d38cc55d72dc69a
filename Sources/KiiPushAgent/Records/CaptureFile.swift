import CLibrary
package import KiiPush
import KiiPushRules
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
/// the last lines; a partial line is removed when the file is opened again. A symbolic link of this user or root stays,
/// and the file that it names is written. A link of another user is an error (`ELOOP`), and so are a device or a pipe
/// (`EINVAL`), a file of another kind (`EEXIST`), and a file of another user (`EACCES`), except that root may write one
/// of its directory's owner; all stay.
package final class CaptureFile: Sendable {
    package static let start = #"{"at":""#

    package let path: String

    package let limit: Int

    private let clock: any ReceiverClock
    private let state = Mutex(State())

    private struct State {
        var file: OpenCapture?
        /// The clock's time at the file's time 0.
        var beginning = MonotonicInstant(nanoseconds: 0)
        var last = Duration.zero
    }

    /// Names a file of at most `limit` bytes, at least 1,024; the clock is for payloads without a time of arrival.
    package init(path: String, limit: Int = 16 << 20, clock: any ReceiverClock = SystemClock()) {
        self.path = path
        self.limit = max(limit, 1024)
        self.clock = clock
    }

    /// Records a payload as received; an error, such as `EFBIG` for too long a line, leaves earlier lines unchanged.
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
            let hint =
                switch error.rawValue {
                case EEXIST: "; it is not a capture; name another file"
                case EINVAL: "; it is not a regular file; name another one"
                case EACCES: "; name a file of this user"
                default: ""
                }
            throw WriteError(path: path, number: error, hint: hint)
        }
    }

    private func open(_ state: inout State, at time: MonotonicInstant) throws(ErrorNumber) {
        state.file = nil
        let file = try OpenCapture(path)
        (state.beginning, state.last) = (time.advanced(by: .zero - file.lastTime), file.lastTime)
        state.file = file
    }
}

/// An open capture file; closed when it is released.
final class OpenCapture: Sendable {
    private let descriptor: Int32
    private let path: String
    private let stamp: FileStamp
    let lastTime: Duration

    /// The error of a file that is not a capture.
    static let foreign = ErrorNumber(rawValue: EEXIST)

    /// Opens or creates a file, with mode 0600; removes a partial last line.
    init(_ path: String) throws(ErrorNumber) {
        guard let file = try fileToReplace(path) else { throw ErrorNumber(rawValue: EINVAL) }
        let descriptor = try openFile(file, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK)
        do throws(ErrorNumber) {
            var status = stat()
            guard unsafe fstat(descriptor, &status) == 0 else { throw .current }
            guard status.st_mode & S_IFMT == S_IFREG else { throw ErrorNumber(rawValue: EINVAL) }
            // Its owner could read what is added.
            guard Self.isOwn(file, status.st_uid) else { throw ErrorNumber(rawValue: EACCES) }
            guard !isForeignFile(file, CaptureFile.start) else { throw Self.foreign }
            guard fchmod(descriptor, 0o600) == 0 else { throw .current }
            lastTime = try Self.repair(descriptor, Int(status.st_size))
        } catch {
            close(descriptor)
            throw error
        }
        if lastTime == .zero { giveToOwnerOfDirectory(of: file, descriptor) }
        (self.descriptor, self.path) = (descriptor, path)
        stamp = FileStamp(path)
    }

    deinit { close(descriptor) }

    /// Whether the owner of a file is this user or, for root, the owner of its directory, who gets what root makes.
    private static func isOwn(_ file: String, _ owner: uid_t) -> Bool {
        if owner == geteuid() { return true }
        var directory = stat()
        return unsafe geteuid() == 0 && stat(directoryName(file), &directory) == 0 && directory.st_uid == owner
    }

    /// Whether the path still names this file.
    var isInPlace: Bool { FileStamp(path).isSameFile(as: stamp) }

    var size: Int {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Appends a whole line, or nothing.
    func append(_ line: String) throws(ErrorNumber) {
        let before = size
        do throws(ErrorNumber) { try writeAll(line, to: descriptor) } catch {
            // A full disk accepts a part; the next line must not begin in the middle of this one.
            _ = ftruncate(descriptor, before)
            throw error
        }
    }

    /// Removes a partial last line; returns the time of the last whole one.
    private static func repair(_ descriptor: Int32, _ size: Int) throws(ErrorNumber) -> Duration {
        guard size > 0 else { return .zero }
        // A line is rarely longer than the largest payload, encoded as a string.
        let tailSize = min(size, 1 << 20)
        var tail = [UInt8](repeating: 0, count: tailSize)
        let count = unsafe tail.withUnsafeMutableBytes { bytes in
            retrying { unsafe pread(descriptor, bytes.baseAddress, bytes.count, size - tailSize) }
        }
        guard count == tailSize else { throw count < 0 ? .current : ErrorNumber(rawValue: EIO) }
        let feed = UInt8(ascii: "\n")
        let end = tail.lastIndex(of: feed)
        if end == nil, tailSize < size { return .zero }
        let unfinished = tail[(end.map { $0 + 1 } ?? 0)...]
        guard mayBegin(unfinished, CaptureFile.start) else { throw foreign }
        if !unfinished.isEmpty, ftruncate(descriptor, size - unfinished.count) != 0 { throw .current }
        guard let end else { return .zero }
        let line = tail[..<end].split(separator: feed).last ?? []
        return CaptureLine.time(of: line) ?? .zero
    }
}

enum CaptureLine {
    /// The line of a payload, with its end; nil for one that cannot be written as a line.
    static func line(_ payload: RawPayload, at time: Duration) -> String? {
        guard let text = String(validating: payload.bytes, as: UTF8.self) else { return nil }
        let whole = Duration.milliseconds(Int64(max(time, .zero) / .milliseconds(1)))
        let time = "{\"at\":\"\(whole.ruleText)\""
        // A name that a corpus cannot contain is omitted, rather than the payload.
        let mqtt = payload.mqtt.map { ",\"mqtt\":\($0.json)" } ?? ""
        let name = payload.transport?.name ?? ""
        let transport = name.isEmpty ? "" : ",\"transport\":\(name.quotedAsJSON)"
        let lines = [time + transport + mqtt, time + mqtt, time].flatMap { step in
            ["\(step),\"payload\":\(text)}", "\(step),\"raw\":\(text.quotedAsJSON)}"]
        }
        // The corpus reader decides whether a payload can be written unchanged.
        return lines.first { isRead($0, payload) }.map { $0 + "\n" }
    }

    private static func isRead(_ line: String, _ payload: RawPayload) -> Bool {
        guard !line.utf8.contains(UInt8(ascii: "\n")), !line.utf8.contains(UInt8(ascii: "\r")) else { return false }
        var corpus = RuleCorpus(file: "")
        guard let step = try? corpus.step(Array(line.utf8), number: 1), case .receive(let incoming) = step.action else {
            return false
        }
        return incoming.bytes == payload.bytes
    }

    /// The time of a line; nil if the line is invalid.
    static func time(of line: ArraySlice<UInt8>) -> Duration? {
        var corpus = RuleCorpus(file: "")
        return try? corpus.step(Array(line), number: 1).at
    }
}
