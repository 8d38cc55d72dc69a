#if SQLite
import KiiPush
import Synchronization
import Testing

@testable import KiiPushSQLite

/// A machine whose clocks a test sets, and which it can boot again.
final class Machine: Sendable {
    private let time: Mutex<MachineTime>

    init(boot: String = "first", monotonic: Int64 = 1_000, wall: Int64 = 1_800_000_000) {
        time = Mutex(MachineTime(boot: boot, monotonic: monotonic * 1_000_000_000, wall: wall * 1_000_000_000))
    }

    var now: MachineTime { time.withLock { $0 } }

    /// Lets seconds go by, on both clocks.
    func pass(_ seconds: Int64) {
        time.withLock { time in
            time.monotonic += seconds * 1_000_000_000
            time.wall += seconds * 1_000_000_000
        }
    }

    /// Sets the wall clock alone.
    func jump(_ seconds: Int64) { time.withLock { $0.wall += seconds * 1_000_000_000 } }

    /// Boots: the monotonic clock begins anew.
    func boot(_ name: String) {
        time.withLock { time in
            time.boot = name
            time.monotonic = 5_000_000_000
        }
    }

    func open(_ directory: String) throws -> SQLiteDatabase {
        try SQLiteDatabase(directory: directory) { self.now }
    }
}

extension DedupeKeys {
    /// Keys made of numbers, for tests that need no message.
    static func numbered(_ first: Int, _ second: Int? = nil, strength: Strength = .strong) -> DedupeKeys {
        func key(_ number: Int) -> DedupeKey {
            DedupeKey(first: UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15, second: .max - UInt64(number))
        }
        return DedupeKeys(primary: key(first), secondary: second.map(key), strength: strength)
    }
}

extension SQLiteSeenStore {
    /// Begins a message and ends it well; throws what the commit throws.
    func handle(_ keys: DedupeKeys, at time: MonotonicInstant) throws {
        guard case .fresh(let lease) = begin(keys, now: time) else {
            Issue.record("a message should be fresh")
            return
        }
        try commit(lease, now: time)
    }

    /// Whether a message is done; one that is not keeps no lease.
    func isDone(_ keys: DedupeKeys, at time: MonotonicInstant) -> Bool {
        switch begin(keys, now: time) {
        case .done: return true
        case .inFlight: return false
        case .fresh(let lease):
            release(lease)
            return false
        }
    }
}

extension MonotonicInstant {
    static func seconds(_ seconds: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: seconds * 1_000_000_000)
    }
}
#endif
