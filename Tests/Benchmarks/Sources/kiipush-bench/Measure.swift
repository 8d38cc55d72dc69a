import CAllocationCounter
import KiiPush

/// What one stage costs a message.
struct Row {
    let name: String
    let bestNanoseconds: Double
    let medianNanoseconds: Double
    /// Nil where they were not counted.
    let allocations: Double?
}

/// Times `body` on `messages` messages in each of several rounds; `prepare` is not timed.
///
/// One more round counts allocations, so that counting does not slow what is timed.
func measure<State>(
    _ name: String, rounds: Int, messages: Int, prepare: () -> State, body: (inout State, Int) -> Void
) -> Row {
    var times: [Double] = []
    for _ in 0..<rounds {
        var state = prepare()
        let start = ContinuousClock.now
        for number in 0..<messages { body(&state, number) }
        times.append(start.duration(to: .now).nanoseconds / Double(messages))
    }
    var state = prepare()
    allocation_counter_start()
    for number in 0..<messages { body(&state, number) }
    let allocations = allocation_counter_stop()
    return Row(name, times, allocations, messages)
}

/// The same for a receiver; a loop of its own, since a closure that awaits would cost a fifth of what it measures.
func measure(
    _ name: String, rounds: Int, messages: Int, _ receiver: PushReceiver, payloads: () -> [RawPayload]
) async -> Row {
    var times: [Double] = []
    for _ in 0..<rounds {
        let payloads = payloads()
        let start = ContinuousClock.now
        for payload in payloads { use(await receiver.receive(payload)) }
        times.append(start.duration(to: .now).nanoseconds / Double(messages))
    }
    let payloads = payloads()
    allocation_counter_start()
    for payload in payloads { use(await receiver.receive(payload)) }
    let allocations = allocation_counter_stop()
    return Row(name, times, allocations, messages)
}

extension Row {
    fileprivate init(_ name: String, _ times: [Double], _ allocations: Int, _ messages: Int) {
        self.init(name, times, allocations: Double(allocations) / Double(messages))
    }

    init(_ name: String, _ times: [Double], allocations: Double? = nil) {
        let sorted = times.sorted()
        self.init(
            name: name, bestNanoseconds: sorted[0], medianNanoseconds: sorted[sorted.count / 2],
            allocations: allocations)
    }
}

extension Duration {
    var nanoseconds: Double { Double(components.seconds) * 1e9 + Double(components.attoseconds) / 1e9 }
}

/// Makes the optimiser believe that a value is used.
@inline(never)
@_optimize(none)
func use<Value>(_ value: borrowing Value) {}
