#if MQTT
import KiiPushLinux

/// When to look at a link's files, and what was seen of them.
struct FileLook {
    typealias Instant = ContinuousClock.Instant

    private let files: LinkFiles
    private let interval: Duration
    /// What the link was made with.
    private var used: [FileStamp]
    /// What was seen since, once: files that go together are not replaced at once.
    private var seen: [FileStamp]?
    /// What was of no use.
    private var useless: [FileStamp]?
    private var next: Instant

    init(_ files: LinkFiles, every interval: Duration) {
        self.files = files
        self.interval = max(interval, .milliseconds(10))
        used = files.stamps
        next = .now + self.interval
    }

    /// When to look again; nil where there are no files.
    var due: Instant? { used.isEmpty ? nil : next }

    /// Takes down that a link is made with the files as they are.
    mutating func use() {
        (used, seen, useless) = (files.stamps, nil, nil)
        next = .now + interval
    }

    /// Whether the files are others than those of the last link; looks when it is time.
    mutating func areOthers() -> Bool {
        guard let due, due <= .now else { return false }
        next = .now + interval
        return files.stamps != used
    }

    /// What to do about the files of a link that holds; looks when it is time.
    ///
    /// - Returns: whether to make the link anew; an error of files that are of no use, once.
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
