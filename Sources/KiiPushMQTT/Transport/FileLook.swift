#if MQTT
import KiiPushSystem

/// When to check a connection's files, and what earlier checks found.
struct FileLook {
    typealias Instant = ContinuousClock.Instant

    private let files: LinkFiles
    private let interval: Duration
    /// The files of the current connection.
    private(set) var used: [FileStamp]
    /// Changed files that were seen once: files that belong together are not replaced at the same moment.
    private var seen: [FileStamp]?
    /// Files that were found invalid.
    private var useless: [FileStamp]?
    private var next: Instant

    init(_ files: LinkFiles, every interval: Duration) {
        self.files = files
        self.interval = max(interval, .milliseconds(10))
        used = files.stamps
        next = .now + self.interval
    }

    /// When to check again; nil if there are no files.
    var due: Instant? { used.isEmpty ? nil : next }

    /// Records that a connection uses the current files.
    mutating func use() {
        (used, seen, useless) = (files.stamps, nil, nil)
        next = .now + interval
    }

    /// Whether the files differ from the last connection's; checks when it is time.
    mutating func areOthers() -> Bool {
        guard let due, due <= .now else { return false }
        next = .now + interval
        return files.stamps != used
    }

    /// Decides about the files of a working connection; checks when it is time.
    ///
    /// - Returns: whether to reconnect; an error for invalid files, once.
    mutating func look() -> Result<Bool, MQTTError> {
        guard let due, due <= .now else { return .success(false) }
        next = .now + interval
        let now = files.stamps
        guard now != used, now != useless else {
            seen = nil
            return .success(false)
        }
        next = .now + min(interval, .seconds(1))
        guard now == seen else {
            seen = now
            return .success(false)
        }
        do throws(MQTTError) { _ = try files.read() } catch {
            useless = now
            return .failure(error)
        }
        return .success(true)
    }
}
#endif
