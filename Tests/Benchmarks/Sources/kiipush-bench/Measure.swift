import CAllocationCounter
import KiiPush

/// What a message costs.
struct Row {
    let name: String
    let bestNanoseconds: Double
    let medianNanoseconds: Double
    let allocations: Double
}

/// Times `messages` messages in each of several rounds; `prepare` is not timed.
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
    return Row(name, times, allocations: allocation_counter_stop(), messages)
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
    return Row(name, times, allocations: allocation_counter_stop(), messages)
}

extension Row {
    fileprivate init(_ name: String, _ times: [Double], allocations: Int, _ messages: Int) {
        let sorted = times.sorted()
        self.init(
            name: name, bestNanoseconds: sorted[0], medianNanoseconds: sorted[sorted.count / 2],
            allocations: Double(allocations) / Double(messages))
    }
}

extension Duration {
    var nanoseconds: Double { Double(components.seconds) * 1e9 + Double(components.attoseconds) / 1e9 }
}

/// Makes the optimiser believe that a value is used.
@inline(never)
@_optimize(none)
func use<Value>(_ value: borrowing Value) {}

// MARK: Text

func table(_ rows: [Row]) -> String {
    let heading = line("per message", "best ns", "median ns", "allocations")
    let lines = rows.map { row in
        line(
            row.name, decimal(row.bestNanoseconds, 1), decimal(row.medianNanoseconds, 1), decimal(row.allocations, 2))
    }
    return ([heading] + lines).joined(separator: "\n")
}

func line(_ name: String, width: Int = 40, _ columns: String...) -> String {
    let first = name + String(repeating: " ", count: max(0, width - name.count))
    return columns.reduce(first) { $0 + String(repeating: " ", count: max(1, 13 - $1.count)) + $1 }
}

/// A number with `digits` digits behind the point; `String(format:)` would bring Foundation in.
func decimal(_ value: Double, _ digits: Int) -> String {
    let factor = (0..<digits).reduce(1) { power, _ in power * 10 }
    let scaled = Int((value * Double(factor)).rounded())
    if digits == 0 { return "\(scaled)" }
    let fraction = String(scaled % factor)
    return "\(scaled / factor)." + String(repeating: "0", count: digits - fraction.count) + fraction
}
