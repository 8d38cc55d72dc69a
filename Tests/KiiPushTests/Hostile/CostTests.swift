import Glibc
import KiiPush
@_spi(Hostile) import KiiPushTesting
import Testing

/// What an accepted payload costs grows as its size does, whatever is in it.
///
/// How much a byte costs is for `kiipush-bench --hostile` to say; here four times the bytes may cost ten times as much,
/// where a quadratic corner takes sixteen.
@Suite(.serialized)
struct CostTests {
    @Test("four times the bytes cost about four times as much", arguments: HostileShape.all.map(\.name))
    func linear(_ name: String) throws {
        let shape = try #require(HostileShape.all.first { $0.name == name })
        let small = try cost(shape.payload(bytes: 16_000))
        let large = try cost(shape.payload(bytes: 64_000))
        // A millisecond more for whatever else a machine does.
        #expect(large < 10 * small + 1_000_000, "\(small) ns, then \(large) ns")
    }

    /// The time that this thread takes to decode a payload and read all of it; the best of three.
    private func cost(_ payload: RawPayload) throws -> Int {
        let secret = DedupeSecret(1, 2)
        return try (0..<3).map { _ in
            let start = threadTime()
            _ = try PushMessage(payload).readAll(secret: secret)
            return threadTime() - start
        }.min() ?? 0
    }

    /// The nanoseconds that this thread has run: a busy machine does not count.
    private func threadTime() -> Int {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}
