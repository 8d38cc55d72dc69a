import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// A store that throws, at each of its calls, in the midst of duplicates, failures and copies that come at once.
@Suite(.timeLimit(.minutes(1)))
struct StoreFailureTests {
    static let calls: [Set<FaultyStore.Call>] = [
        [.begin], [.commit], [.release], [.commit, .release], Set(FaultyStore.Call.allCases),
    ]

    @Test(
        "whichever store call throws, each message has one outcome and no lease remains",
        arguments: calls, [Deduplicator.StoreFailure.failOpen, .failClosed])
    func eachCall(calls: Set<FaultyStore.Call>, policy: Deduplicator.StoreFailure) async throws {
        for isForEver in [false, true] {
            for isDone in [false, true] where !isDone || calls.isDisjoint(with: [.begin]) {
                var number = 1
                while number < 200 {
                    let fault = FaultyStore.Fault(calls: calls, from: number, isForEver: isForEver, isDone: isDone)
                    let run = Run(FaultyStore(fault), policy)
                    await run.all()
                    if run.store.thrown == 0 { break }
                    let name = "call \(number) of \(calls.map(\.rawValue).sorted()), \(policy)"
                    run.judge(name)
                    await run.judgeHealed(name, fault)
                    number += 1
                }
                #expect(number > 1 && number < 200, "the fault should have come, and there is an end of calls")
            }
        }
    }

    /// One receiver on a sick store, and what its messages came to.
    private final class Run: Sendable {
        let store: FaultyStore
        let script = Script()
        let receiver: PushReceiver
        let deduplicator: Deduplicator
        private let policy: Deduplicator.StoreFailure
        private let outcomes = Mutex<[Outcome]>([])

        init(_ store: FaultyStore, _ policy: Deduplicator.StoreFailure) {
            let clock = ManualClock()
            let deduplicator = Deduplicator(store: store, secret: .published, onStoreFailure: policy, clock: clock)
            receiver = PushReceiver(clock: clock) { deduplicator }
            (self.store, self.policy, self.deduplicator) = (store, policy, deduplicator)
            receiver.onPushToApp(id: "r") { [script] event, _ in try await script.handle(event.message.modifiedAt ?? 0)
            }
        }

        /// A copy of a message: each network says another time of the push, and the same modification.
        private func copy(_ message: Int64, _ number: Int64) -> RawPayload {
            PayloadFixture.pushToApp(sentAt: 1000 * message + number, modifiedAt: message).payload(.long)
        }

        @discardableResult
        private func receive(_ payload: RawPayload) async -> Outcome {
            let outcome = await receiver.receive(payload)
            outcomes.withLock { $0.append(outcome) }
            return outcome
        }

        /// Delivers as a transport does: again, until it is accepted, or three times.
        @discardableResult
        private func deliver(_ payload: RawPayload) async -> Bool {
            for _ in 0..<3 where await receive(payload).disposition == .accept { return true }
            return false
        }

        /// Delivers two copies of a message while the handler has the first one.
        private func together(_ message: Int64) async {
            let steps = script.hold(message)
            async let first: Outcome = {
                defer { steps.entered.open() }
                return await receive(copy(message, 0))
            }()
            await steps.entered.wait()
            var copies: [Task<Void, Never>] = []
            for number in 1...2 {
                // It ends at once, or gets into the handler, because the first one did not or the store is failing.
                let isSettled = Gate()
                steps.again(isSettled)
                copies.append(
                    Task {
                        await receive(copy(message, Int64(number)))
                        isSettled.open()
                    })
                await isSettled.wait()
            }
            steps.leave.open()
            _ = await first
            for copy in copies { await copy.value }
        }

        func all() async {
            script.fail([2, 4])
            await deliver(copy(1, 0))
            await deliver(copy(1, 1))
            await deliver(copy(2, 0))
            await deliver(copy(2, 0))
            await receive(PayloadFixture.directPush().payload(.long))
            await together(3)
            await together(4)
            await deliver(copy(3, 3))
            await deliver(copy(4, 3))
            await receive(PayloadFixture.directPush().payload(.long))
            await deliver(copy(5, 0))
            await deliver(copy(2, 4))
        }

        func judge(_ name: String) {
            let outcomes = outcomes.withLock { $0 }
            #expect(receiver.metrics.received == outcomes.count, "\(name)")
            if policy == .failOpen { #expect(receiver.metrics.count("failed", "stage") == 0, "\(name)") }
            #expect(deduplicator.counts.storeFailures >= store.thrown, "\(name): all failures are counted")
        }

        /// What must hold once the store is well again.
        func judgeHealed(_ name: String, _ fault: FaultyStore.Fault) async {
            store.heal()
            for message in Int64(1)...5 {
                #expect(await deliver(copy(message, 9)), "\(name): message \(message) is accepted in the end")
                let successes = script.successes(message)
                #expect(successes >= 1, "\(name): message \(message) was handled")
                let isForgotten = fault.isForEver && fault.calls == [.commit]
                if policy == .failClosed, !isForgotten {
                    #expect(successes == 1, "\(name): message \(message) was handled once")
                }
            }
            // Whatever else it was not told, it is told while other messages end.
            for message in Int64(100)..<120 { await deliver(copy(message, 0)) }
            let counts = deduplicator.counts
            #expect(counts.unreportedEnds == 0 && counts.store?.inFlight == 0, "\(name): no lease is left")
        }
    }
}

/// What a handler does with each message, and where it waits.
final class Script: Sendable {
    /// The steps of a message that is held in its handler while copies come.
    final class Steps: Sendable {
        let entered = Gate()
        let leave = Gate()
        private let next = Mutex<Gate?>(nil)

        /// Opens `gate` when the next copy gets into the handler.
        func again(_ gate: Gate) { next.withLock { $0 = gate } }

        func enter() {
            entered.open()
            next.withLock { $0 }?.open()
        }
    }

    private struct State {
        var toFail: Set<Int64> = []
        var successes: [Int64: Int] = [:]
        var held: [Int64: Steps] = [:]
        var isEntered: Set<Int64> = []
    }

    private let state = Mutex(State())

    /// Lets the next call for each of the messages fail.
    func fail(_ messages: Set<Int64>) { state.withLock { $0.toFail = messages } }

    func hold(_ message: Int64) -> Steps {
        let steps = Steps()
        state.withLock { $0.held[message] = steps }
        return steps
    }

    func successes(_ message: Int64) -> Int { state.withLock { $0.successes[message] ?? 0 } }

    func handle(_ message: Int64) async throws {
        let (steps, isFirst, fails) = state.withLock { state in
            let fails = state.toFail.remove(message) != nil
            return (state.held[message], state.isEntered.insert(message).inserted, fails)
        }
        steps?.enter()
        if isFirst { await steps?.leave.wait() }
        if fails { throw TestError() }
        state.withLock { $0.successes[message, default: 0] += 1 }
    }
}

/// A store in memory that throws where it is told to.
final class FaultyStore: SeenStore {
    enum Call: String, CaseIterable, Sendable {
        case begin, commit, release
    }

    struct Fault: Sendable {
        var calls: Set<Call> = Set(Call.allCases)
        /// The number of the first of these calls that throws.
        var from = 1
        var isForEver = true
        /// Whether it does what it was asked before it throws.
        var isDone = false
    }

    private struct State {
        var fault: Fault?
        var calls = 0
        var thrown = 0
    }

    private let state: Mutex<State>
    private let store = InMemorySeenStore()

    init(_ fault: Fault) { state = Mutex(State(fault: fault)) }

    var thrown: Int { state.withLock { $0.thrown } }
    var counts: SeenCounts? { store.counts }

    func heal() { state.withLock { $0.fault = nil } }

    private func call<Result>(_ call: Call, _ body: () -> Result) throws -> Result {
        let (throwsNow, isDone) = state.withLock { state in
            guard let fault = state.fault, fault.calls.contains(call) else { return (false, false) }
            state.calls += 1
            let throwsNow = state.calls == fault.from || fault.isForEver && state.calls > fault.from
            if throwsNow { state.thrown += 1 }
            return (throwsNow, fault.isDone)
        }
        guard throwsNow else { return body() }
        if isDone { _ = body() }
        throw TestError()
    }

    func begin(_ keys: DedupeKeys, now: MonotonicInstant) throws -> SeenState {
        try call(.begin) { store.begin(keys, now: now) }
    }

    func commit(_ lease: SeenLease, now: MonotonicInstant) throws {
        try call(.commit) { store.commit(lease, now: now) }
    }

    func release(_ lease: SeenLease) throws { try call(.release) { store.release(lease) } }
}
