#if SQLite
import CLibrary
import KiiPush
import KiiPushSystem

/// The readings of a machine's clocks at one moment; stored times contain all of them, so that they can be read after a
/// reboot.
struct MachineTime: Sendable, Hashable {
    /// The kernel's boot id; empty if unknown, and then equal to no other.
    var boot: String
    /// Nanoseconds since the machine started, including sleep.
    var monotonic: Int64
    /// Nanoseconds since 1970 by the wall clock.
    var wall: Int64

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
        unsafe clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

struct StoredTime: Sendable, Hashable {
    /// The boot's number in the table of boots.
    var boot: Int64
    var monotonic: Int64
    var wall: Int64
}

/// Converts a receiver's times to times that can be stored, and back.
struct TimeScale: Sendable {
    /// The number of this process's boot.
    let boot: Int64
    /// The receiver's clock and the machine's at the same moment.
    let instant: MonotonicInstant
    let machine: MachineTime
    /// The latest stored time of each earlier boot.
    var latest: [Int64: StoredTime] = [:]

    /// A time of the receiver's clock in its stored form: the readings of both clocks at that time, and the boot.
    func stored(_ time: MonotonicInstant, now: MachineTime) -> StoredTime {
        let monotonic = machine.monotonic.adding(time.nanoseconds.since(instant.nanoseconds))
        return StoredTime(
            boot: boot, monotonic: monotonic, wall: now.wall.adding(monotonic.since(now.monotonic)))
    }

    /// The age of a stored time when the scale was made: by the monotonic clock within this boot, by the wall clock
    /// after another, from 0 to `limit`.
    ///
    /// If the wall clock showed 1970 when the message arrived, it counts as too old; if it shows 1970 now, as new. So
    /// nothing is remembered for longer than its window after the process has started. The distance of two messages of
    /// one boot always comes from its monotonic clock.
    func age(_ time: StoredTime, limit: Int64) -> Int64 {
        if time.boot == boot { return min(max(machine.monotonic.since(time.monotonic), 0), limit) }
        var last = time
        if let latest = latest[time.boot], latest.monotonic > time.monotonic { last = latest }
        let sinceLast = max(machine.wall.since(last.wall), 0)
        return min(sinceLast.adding(last.monotonic.since(time.monotonic)), limit)
    }

    /// A stored time on the receiver's clock: exact within this boot, otherwise not after the scale was made.
    func instant(_ time: StoredTime) -> MonotonicInstant {
        if time.boot == boot { return instant.advanced(byNanoseconds: time.monotonic.since(machine.monotonic)) }
        return instant.advanced(byNanoseconds: -age(time, limit: .max))
    }
}

extension Int64 {
    /// The sum, clamped to the largest or smallest number.
    fileprivate func adding(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}
#endif
