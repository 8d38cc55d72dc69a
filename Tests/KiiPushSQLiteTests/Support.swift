#if SQLite
import Foundation
import KiiPush
import Synchronization
import Testing

@testable import KiiPushSQLite

/// A machine whose clocks a test sets, and which it can boot again.
final class Machine: Sendable {
    private let time = Mutex(
        MachineTime(boot: "first", monotonic: 1_000_000_000_000, wall: 1_800_000_000_000_000_000))

    var now: MachineTime { time.withLock { $0 } }

    /// Lets seconds go by on both clocks, then sets the wall clock, and boots where a boot is named.
    func pass(_ seconds: Int64, jumping jump: Int64 = 0, boot: String? = nil) {
        time.withLock { $0.monotonic += seconds * 1_000_000_000 }
        self.jump(seconds + jump)
        if let boot { self.boot(boot) }
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

extension SQLiteDatabase {
    /// A number in the file; 0 without one.
    func number(_ sql: String) throws -> Int64 {
        try withConnection { connection throws(SQLiteError) in try connection.number(sql) } ?? 0
    }

    /// Changes the file behind the stores' back.
    func run(_ sql: String) throws {
        try withConnection { connection throws(SQLiteError) in try connection.script(sql) }
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
    /// Begins a message, which must be fresh.
    func lease(_ keys: DedupeKeys, at time: MonotonicInstant = .seconds(0)) throws -> SeenLease {
        let lease: SeenLease? = if case .fresh(let lease) = begin(keys, now: time) { lease } else { nil }
        return try #require(lease, "a message should be fresh")
    }

    /// Begins a message and ends it well; throws what the commit throws.
    func handle(_ keys: DedupeKeys, at time: MonotonicInstant) throws {
        try commit(try lease(keys, at: time), now: time)
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

/// A directory for the databases of one test; gone with the value.
final class StateFolder: Sendable {
    let path: String
    /// A state directory that is not there yet, for a test with one.
    var directory: String { "\(path)/state" }
    private let last = Atomic<Int>(0)

    /// Makes one, below `parent` if that is there, else where temporary files are.
    init(parent: String? = nil) {
        let parent = parent.flatMap { FileManager.default.isWritableFile(atPath: $0) ? URL(filePath: $0) : nil }
        let url = (parent ?? FileManager.default.temporaryDirectory)
            .appending(path: "kiipush-sqlite-\(UUID().uuidString)")
        path = url.path
        guard unsafe mkdir(path, 0o700) == 0 else { fatalError("no directory for a test: \(errno)") }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of another one.
    func next() -> String { "\(path)/\(last.add(1, ordering: .relaxed).newValue)" }
}
#endif
