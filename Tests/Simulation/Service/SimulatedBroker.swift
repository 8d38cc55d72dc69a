import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Synchronization

/// Keeps messages until they are acknowledged, and brings those that are not to each process anew, in order.
final class SimulatedBroker: Sendable {
    private struct State {
        var pending: [Delivery] = []
        var last = 0
        /// Which of them this process has been given.
        var given: Set<Int> = []
        var isClosed = false
        var waiter: CheckedContinuation<Void, Never>?
        var dice: SeededGenerator
        var waiting: [Delivery] { pending.filter { !given.contains($0.id) } }
        /// Of a hundred acknowledgements, how many do not arrive.
        var lostAcknowledgements = 0
        /// Those whose acknowledgement did not arrive, and those that the process asked to have later.
        var unheard: Set<Int> = []
    }

    /// A message on its way: the same one may be pushed twice.
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

    /// Brings again what was acknowledged in vain, and what the process asked to have later.
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

    /// Begins anew for another process.
    func reconnect() {
        state.withLock { state in
            // It is given all that is pending, once: what the one before asked to have later is among that.
            (state.given, state.unheard) = ([], [])
            state.isClosed = false
        }
    }

    /// Lets the process's transport return when it has handed all over.
    func close() { wake { $0.isClosed = true } }

    private func wake(_ change: (inout State) -> Void) {
        let waiter = state.withLock { state in
            change(&state)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Takes an acknowledgement of a process that is alive.
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

    /// What the process is to be given next: some at once, in order.
    fileprivate func next() -> [(id: Int, payload: RawPayload)] {
        state.withLock { state in
            let some = state.waiting.prefix(Int(state.dice.next() % 4) + 1)
            state.given.formUnion(some.map(\.id))
            return some.map { ($0.id, payload($0.number)) }
        }
    }

    /// Keeps one that the process asked to have later.
    fileprivate func putOff(_ id: Int) { state.withLock { _ = $0.unheard.insert(id) } }

    /// Waits until there is something to be given; false when the transport may return.
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
            // A batch in one step where there is room for it, else one after another.
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
            // The process ends; the next one is given it.
            default: break
            }
        }
    }
}
