#if SQLite
import Glibc
import KiiPush
import KiiPushLinux

/// What a machine's clocks say at one moment; stored times have all of it, so that they can be read after a reboot.
struct MachineTime: Sendable, Hashable {
    /// Which run of the kernel it is; empty where nobody knows, and then equal to no other.
    var boot: String
    /// Nanoseconds since the machine started, those in which it slept included.
    var monotonic: Int64
    /// Nanoseconds since 1970 by the wall clock.
    var wall: Int64

    /// This machine's clocks, now.
    static func now() -> MachineTime {
        MachineTime(
            boot: currentBoot, monotonic: nanoseconds(CLOCK_BOOTTIME), wall: nanoseconds(CLOCK_REALTIME))
    }

    private static let currentBoot: String = {
        let path = "/proc/sys/kernel/random/boot_id"
        guard let bytes = try? ByteReader(path: path).readAll(limit: 64) else { return "" }
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }()

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        // The call fills in `time` and keeps nothing.
        unsafe clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

struct StoredTime: Sendable, Hashable {
    /// The number of the boot, in the table of boots.
    var boot: Int64
    var monotonic: Int64
    var wall: Int64
}

/// Turns times of a receiver's clock into ones that can be stored, and back.
struct TimeScale: Sendable {
    /// The number of the boot that this process runs in.
    let boot: Int64
    /// The receiver's clock and the machine's at the same moment.
    let instant: MonotonicInstant
    let machine: MachineTime
    /// Of each earlier boot the latest time that was stored.
    var latest: [Int64: StoredTime] = [:]

    /// A time as it is to be stored.
    ///
    /// - Parameters:
    ///   - time: a time of the receiver's clock.
    ///   - now: what the machine's clocks say at this moment.
    /// - Returns: both clocks' times of that moment, and the boot.
    func stored(_ time: MonotonicInstant, now: MachineTime) -> StoredTime {
        let monotonic = machine.monotonic.adding(time.nanoseconds.since(instant.nanoseconds))
        return StoredTime(
            boot: boot, monotonic: monotonic, wall: now.wall.adding(monotonic.since(now.monotonic)))
    }

    /// How long before the scale was made a stored time was: by the monotonic clock within this boot, by the wall clock
    /// after another, and neither negative nor longer than `limit`.
    ///
    /// A wall clock may say anything: one that stood at 1970 when the message came makes it too old, one that stands
    /// there now makes it new. So nothing is remembered for longer than its window after the process has started. But
    /// how far apart two messages of one boot arrived, its monotonic clock says, whatever the wall clock does.
    func age(_ time: StoredTime, limit: Int64) -> Int64 {
        if time.boot == boot { return min(max(machine.monotonic.since(time.monotonic), 0), limit) }
        var last = time
        if let latest = latest[time.boot], latest.monotonic > time.monotonic { last = latest }
        let sinceLast = max(machine.wall.since(last.wall), 0)
        return min(sinceLast.adding(last.monotonic.since(time.monotonic)), limit)
    }

    /// A stored time that may be to come, on the receiver's clock: exact within this boot; after another one by the
    /// wall clock, and not before the moment when the scale was made.
    func end(_ time: StoredTime) -> MonotonicInstant {
        if time.boot == boot { return instant.advanced(byNanoseconds: time.monotonic.since(machine.monotonic)) }
        return instant.advanced(byNanoseconds: max(time.wall.since(machine.wall), 0))
    }

    /// A stored time on the receiver's clock.
    ///
    /// Exact for a time of this process, also for one to come; else not after the moment when the scale was made.
    func instant(_ time: StoredTime, isOwn: Bool) -> MonotonicInstant {
        if isOwn { return instant.advanced(byNanoseconds: time.monotonic.since(machine.monotonic)) }
        return instant.advanced(byNanoseconds: -age(time, limit: .max))
    }
}

extension Int64 {
    /// The sum; the largest or least number there is, where it is beyond.
    fileprivate func adding(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}
#endif
