import CAllocationCounter
import KiiPush
import Synchronization

/// What gate.sh counts: the same work in each run, so that the difference of two runs is that of their messages.
enum CountedPart: String, CaseIterable {
    case decode
    case whole
    /// The whole with a middleware of one's own, which walks each message step by step.
    case own
    /// The same with a trace listener.
    case watched

    /// How many messages may be asked for.
    ///
    /// Payloads are made for the most of them, whatever is asked.
    static let messages = 1...4000
}

/// A time that goes on by half a microsecond at each look, so that what is counted does not depend on how fast the run
/// is, and the guard's windows grow as they do in earnest.
private final class CountingClock: ReceiverClock {
    private let looks = Atomic<Int64>(0)

    var now: MonotonicInstant {
        MonotonicInstant(nanoseconds: looks.add(500, ordering: .relaxed).newValue)
    }

    // Its time never comes; nothing waits.
    @concurrent
    func sleep(until instant: MonotonicInstant) async throws { throw CancellationError() }
}

/// Takes messages through a part and returns how often memory was asked for.
func handle(_ messages: Int, _ part: CountedPart) async throws -> Int {
    var source = Payloads()
    let payloads = source.next(CountedPart.messages.upperBound)
    var done = 0
    allocation_counter_start()
    switch part {
    case .decode:
        for payload in payloads.prefix(messages) where (try? PushMessage(payload))?.kind == .pushToApp { done += 1 }
    case .whole, .own, .watched:
        let receiver = readingReceiver(clock: CountingClock(), middlewares: part == .whole ? 0 : 1)
        if part == .watched { receiver.onTrace { use($0.outcome) } }
        allocation_counter_start()
        for payload in payloads.prefix(messages) {
            if case .handled = await receiver.receive(payload) { done += 1 }
        }
    }
    let allocations = allocation_counter_stop()
    try check(done == messages, "every message handled")
    return allocations
}
