import CAllocationCounter
import KiiPush

/// What gate.sh counts: the same work in each run, so that the difference of two runs is that of their messages.
enum CountedPart: String {
    case decode
    case whole

    /// How many messages may be asked for.
    ///
    /// Payloads are made for the most of them, whatever is asked.
    static let messages = 1...4000
}

/// A time that stands still, so that what is counted does not depend on how fast the run is.
private struct StoppedClock: ReceiverClock {
    var now: MonotonicInstant { MonotonicInstant(nanoseconds: 0) }

    // Its time never comes; nothing waits, since nothing is held.
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
    case .whole:
        let receiver = readingReceiver(clock: StoppedClock())
        allocation_counter_start()
        for payload in payloads.prefix(messages) {
            if case .handled = await receiver.receive(payload) { done += 1 }
        }
    }
    let allocations = allocation_counter_stop()
    try check(done == messages, "every message handled")
    return allocations
}
