import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Synchronization

/// Keeps messages until they are acknowledged, and delivers the others to each process again, in order.
final class SimulatedBroker: Sendable {
    private struct State {
        var pending: [Delivery] = []
        var last = 0
        /// The ids that were delivered to this process.
        var given: Set<Int> = []
        var isClosed = false
        var waiter: CheckedContinuation<Void, Never>?
        var dice: SeededGenerator
        var waiting: [Delivery] { pending.filter { !given.contains($0.id) } }
        /// The percentage of acknowledgements that do not arrive.
        var lostAcknowledgements = 0
        /// The ids whose acknowledgement did not arrive, and those that the process asked to retry later.
        var unheard: Set<Int> = []
    }

    /// A pushed message; the same message may be pushed twice.
    struct Delivery: Sendable {
        let id: Int
        let number: Int
    }

    private let state: Mutex<State>
    private let payload: @Sendable (Int) -> RawPayload

    init(seed: UInt64, _ payload: @escaping @Sendable (Int) -> RawPayload) {
        state = Mutex(State(dice: SeededGenerator(seed: seed)))
        self.payload = payload
    }

    /// The messages that are not acknowledged.
    var pending: [Int] { state.withLock { $0.pending.map(\.number) } }

    func setLostAcknowledgements(_ percent: Int) { state.withLock { $0.lostAcknowledgements = percent } }

    /// Delivers messages again whose acknowledgement was lost, or that the process asked to retry later.
    func bringAgain() {
        wake { state in
            state.given.subtract(state.unheard)
            state.unheard = []
        }
    }

    func push(_ number: Int) {
        wake { state in
            state.last += 1
            state.pending.append(Delivery(id: state.last, number: number))
        }
    }

    /// Restarts for another process.
    func reconnect() {
        state.withLock { state in
            // All pending messages are delivered to it once, including those that the one before asked to retry later.
            (state.given, state.unheard) = ([], [])
            state.isClosed = false
        }
    }

    /// Lets the process's transport return when it has submitted all messages.
    func close() { wake { $0.isClosed = true } }

    private func wake(_ change: (inout State) -> Void) {
        let waiter = state.withLock { state in
            change(&state)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Accepts an acknowledgement of a process that is alive.
    fileprivate func acknowledge(_ id: Int, _ life: Life) {
        guard life.isAlive else { return }
        state.withLock { state in
            if Int(state.dice.next() % 100) < state.lostAcknowledgements {
                state.unheard.insert(id)
            } else {
                state.pending.removeAll { $0.id == id }
            }
        }
    }

    /// The next messages for the process: some at once, in order.
    fileprivate func next() -> [(id: Int, payload: RawPayload)] {
        state.withLock { state in
            let some = state.waiting.prefix(Int(state.dice.next() % 4) + 1)
            state.given.formUnion(some.map(\.id))
            return some.map { ($0.id, payload($0.number)) }
        }
    }

    /// Keeps a message that the process asked to retry later.
    fileprivate func putOff(_ id: Int) { state.withLock { _ = $0.unheard.insert(id) } }

    /// Waits until there is a message to deliver; false if the transport may return.
    fileprivate func wait() async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let isNow = state.withLock { state in
                    if !state.waiting.isEmpty || state.isClosed || Task.isCancelled { return true }
                    state.waiter = waiter
                    return false
                }
                if isNow { waiter.resume() }
            }
        } onCancel: {
            wake { _ in }
        }
        return state.withLock { state in
            !Task.isCancelled && (!state.isClosed || !state.waiting.isEmpty)
        }
    }
}

/// The link of one process to the broker.
struct SimulatedLink: PushTransport {
    let broker: SimulatedBroker
    let life: Life
    let clock: ManualClock
    let name = "simulated"
    let abilities: TransportAbilities = [.acknowledges, .redelivers]

    func run(_ intake: PushIntake) async throws {
        while await broker.wait() {
            let some = broker.next()
            // A batch in one step if it fits, else one after another.
            if let receipts = try? intake.submit(some.map(\.payload)) {
                for (message, receipt) in zip(some, receipts) { follow(receipt, message.id) }
                continue
            }
            for (id, payload) in some { follow(try await intake.submitWaiting(payload), id) }
        }
    }

    private func follow(_ receipt: Receipt, _ id: Int) {
        if receipt.isStored { return broker.acknowledge(id, life) }
        receipt.onEnd { outcome in
            switch outcome?.disposition {
            case .accept?, .reject?: broker.acknowledge(id, life)
            case .retryLater?: broker.putOff(id)
            // The process ends; the message is delivered to the next one.
            default: break
            }
        }
    }
}
