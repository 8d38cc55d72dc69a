import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Synchronization

/// One run of a service from one seed: traffic, faults, crashes and stops, then peace, in which all messages must end.
///
/// In the first phase the guarantees hold whatever happens: no acknowledged message is lost, none is handled twice
/// unless it was in flight when a process ended, and messages of one object are handled in order. In the second phase
/// nothing fails: then all messages must end, in bounded time.
struct ServiceRun {
    let plan: ServicePlan
    private let executor: SeededExecutor
    private let clock = ManualClock()
    private let disk: SimulatedDisk
    private let broker: SimulatedBroker
    private let seen: SimulatedSeenStore
    private let ledger: ServiceLedger
    private var dice: SeededGenerator
    private let isPeace = Peace()
    /// Messages of an earlier process that some of their routes had handled: without an order, a copy may run first,
    /// which does not know these routes.
    private var halfHandled: Set<Int> = []

    init(seed: UInt64, isDiskBroken: Bool) {
        let plan = ServicePlan(seed: seed)
        self.plan = plan
        executor = SeededExecutor(seed: seed &+ 2)
        broker = SimulatedBroker(seed: seed &+ 4) { plan.payload($0) }
        ledger = ServiceLedger(plan)
        seen = SimulatedSeenStore(waitsForWrites: plan.isDurable)
        disk = SimulatedDisk(seed: seed &+ 3, ledger, seen, isBroken: isDiskBroken)
        dice = SeededGenerator(seed: seed &+ 5)
    }

    /// Runs a seed; returns what broke a guarantee.
    static func violations(seed: UInt64, isDiskBroken: Bool = false) -> [String] {
        var run = ServiceRun(seed: seed, isDiskBroken: isDiskBroken)
        return run.run()
    }

    private mutating func roll(_ sides: Int) -> Int { Int(dice.next() % UInt64(sides)) }

    private mutating func run() -> [String] {
        var pushed = 0
        var ends = (0..<plan.crashes).map { _ in true } + (0..<plan.stops).map { _ in false }
        broker.setLostAcknowledgements(plan.lostAcknowledgements)
        while !ends.isEmpty {
            let process = begin()
            disturb(process, steps: roll(400) + 20, &pushed)
            end(process, isCrash: ends.remove(at: roll(ends.count)))
        }
        let last = begin()
        disturb(last, steps: 200, &pushed)
        bringPeace(last, &pushed)
        // A process that broke a guarantee is left in the middle of its work, and its tasks would wait for ever.
        if last.report.value.withLock({ $0 == nil }) { end(last, isCrash: true) }
        runAll()
        ledger.close(disk.letters.letters()) { self.routes(of: $0) }
        return ledger.violations
    }

    // MARK: Processes

    /// A running service, and its task.
    private struct Process {
        let life: Life
        let service: PushService
        let task: Task<Void, Never>
        let report: Report
    }

    private final class Report: Sendable {
        let value = Mutex<Result<DrainReport, any Error>?>(nil)
    }

    private func routes(of number: Int) -> [String] {
        let all = (0..<plan.routes).map { "r\($0)" }
        return plan.object(of: number) % 2 == 1 ? all + ["third"] : all
    }

    private func begin() -> Process {
        let life = Life()
        let receiver = receiver(life)
        broker.reconnect()
        disk.restart()
        let link = SimulatedLink(broker: broker, life: life, clock: clock)
        let inbox = SimulatedInbox(disk: disk, life: life, clock: clock, slowness: plan.writing)
        let service = PushService(
            receiver, [link], inbox: plan.isDurable ? inbox : InMemoryInbox(), settings: plan.settings,
            delivery: plan.delivery, jitter: { 0 }, executor: executor)
        let report = Report()
        let task = executor.start {
            do {
                let result = try await service.run()
                report.value.withLock { $0 = .success(result) }
            } catch {
                report.value.withLock { $0 = .failure(error) }
            }
        }
        return Process(life: life, service: service, task: task, report: report)
    }

    private func receiver(_ life: Life) -> PushReceiver {
        var loop = LoopSettings()
        if !plan.isPaced { loop.layers.remove(.pace) }
        let store: any SeenStore =
            plan.isSeenDurable ? SimulatedSeenLink(shared: seen, life: life) : InMemorySeenStore()
        let receiver = PushReceiver(
            app: "0123abcd", clock: clock, deadLetters: SimulatedDeadLetters(disk: disk, life: life)
        ) {
            Deduplicator(store: store, secret: .published, onStoreFailure: .failClosed)
            LoopGuard(settings: loop)
        }
        for route in 0..<plan.routes {
            receiver.onAny(id: "r\(route)", options: .continue) { try await handle($0, $1, life) }
        }
        receiver.onPushToApp(id: "third", bucket: "b1", options: .continue) { event, context in
            try await handle(event.message, context, life)
        }
        let ledger = ledger
        receiver.onTrace { trace in
            guard life.isAlive, let message = trace.message else { return }
            ledger.ended(ServicePlan.number(of: message), trace.outcome)
        }
        return receiver
    }

    /// The work of each handler: it waits, then succeeds, throws, or waits until it is cancelled.
    private func handle(_ message: PushMessage, _ context: HandlerContext, _ life: Life) async throws {
        if plan.handling > 0 {
            try await clock.sleep(until: clock.now.advanced(by: .milliseconds(ledger.roll(plan.handling + 1))))
        }
        let chance = ledger.roll(100)
        if !isPeace.isMade, chance < plan.hangs {
            try await clock.sleep(until: clock.now.advanced(by: .seconds(86_400)))
        }
        // A process has no effects after its end, nor a handler after its cancellation.
        guard life.isAlive, !Task.isCancelled else { throw HandlerFailed() }
        if !isPeace.isMade, chance < plan.hangs + plan.failures { throw HandlerFailed() }
        ledger.succeeded(ServicePlan.number(of: message), context.route)
    }

    private struct HandlerFailed: Error {}

    // MARK: The phases

    /// Runs random events for a number of steps.
    private mutating func disturb(_ process: Process, steps: Int, _ pushed: inout Int) {
        for _ in 0..<steps {
            switch roll(20) {
            case 0..<4: push(&pushed)
            case 4: process.life.isDiskFailing = plan.isDiskFailing && roll(2) == 0
            case 5: broker.bringAgain()
            case 6..<9: clock.advance(by: .milliseconds(roll(50)))
            default: for _ in 0...roll(8) { if !executor.runOne() { passTime() } }
            }
            look(at: process)
        }
    }

    private mutating func push(_ pushed: inout Int) {
        if pushed > 0, roll(100) < plan.copies {
            let copy = max(1, pushed - roll(5))
            // With a store in memory, no process knows which messages an earlier one has handled.
            if !plan.isSeenDurable || halfHandled.contains(copy) { ledger.excuse([copy]) }
            ledger.tell([copy], "pushed again")
            return broker.push(copy)
        }
        guard pushed < plan.messages else { return }
        pushed += 1
        ledger.tell([pushed], "pushed")
        broker.push(pushed)
    }

    /// Advances the clock to the next wake-up, but not too far, because handled messages are remembered for ten minutes
    /// only.
    private func passTime(atMost longest: Duration = .milliseconds(100)) {
        let next = clock.nextWake ?? clock.now.advanced(by: longest)
        if next > clock.now { clock.advance(by: min(clock.now.duration(to: next), longest)) }
    }

    /// Runs until no task is ready before time passes.
    private func runAll() {
        for _ in 0..<100_000 where !executor.runOne() { return }
        ledger.violate("tasks go round in a circle, and no time passes")
    }

    private func look(at process: Process) {
        let status = process.service.status
        // Plus those that were in flight at a crash.
        let most = plan.settings.messages + max(plan.settings.inFlight, plan.settings.concurrency)
        if status.messages > most { ledger.violate("\(status.messages) messages have places") }
        if status.handling > plan.settings.concurrency + 1 { ledger.violate("\(status.handling) are handled at once") }
        // Once this process is open, messages in flight in an earlier one no longer are.
        let inFlight = status.isOpen ? disk.rows.values.count { $0.isInFlight } : 0
        if inFlight > max(plan.settings.inFlight, plan.settings.concurrency) {
            ledger.violate("\(inFlight) are in flight at once")
        }
    }

    /// Ends a process, by a crash or by a stop.
    private mutating func end(_ process: Process, isCrash: Bool) {
        if isCrash {
            // Messages in flight may be handled again; unacknowledged ones are redelivered.
            process.life.crash()
            ledger.tell(1...plan.messages, "CRASH")
        } else {
            ledger.tell(1...plan.messages, "STOP")
            broker.close()
        }
        process.task.cancel()
        let limit = clock.now.advanced(by: plan.settings.drain + plan.settings.grace + .seconds(60))
        while process.report.value.withLock({ $0 == nil }), clock.now < limit {
            runAll()
            passTime()
        }
        if process.report.value.withLock({ $0 == nil }) { ledger.violate("a process that was asked to end did not") }
        excuse()
        if isCrash, roll(2) == 0 {
            disk.losePower()
            ledger.tell(1...plan.messages, "POWER LOST")
        }
    }

    /// Excuses messages that were in flight when a process ended.
    private mutating func excuse() {
        // With a deduplication store in memory, every later copy may be handled.
        var excused = Set(left { $0.isInFlight || !plan.isSeenDurable })
        if !plan.isDurable || !plan.isSeenDurable { excused.formUnion(broker.pending) }
        // Of two copies in the inbox, one does not know the routes that handled the other.
        var copies: Set<Int> = []
        let pending = left { _ in true } + broker.pending
        for number in pending where !copies.insert(number).inserted { excused.insert(number) }
        halfHandled = plan.delivery.order == .none ? Set(left { !$0.handled.isEmpty }) : []
        ledger.excuse(excused)
    }

    /// The messages of payloads that have not ended and meet a condition.
    private func left(where condition: (InboxTable.Row) -> Bool) -> [Int] {
        disk.rows.values.filter(condition).compactMap { try? PushMessage($0.payload) }.map(ServicePlan.number)
    }

    /// Stops all failures; then all messages must end.
    private mutating func bringPeace(_ process: Process, _ pushed: inout Int) {
        isPeace.make()
        process.life.isDiskFailing = false
        broker.setLostAcknowledgements(0)
        while pushed < plan.messages { push(&pushed) }
        let limit = clock.now.advanced(by: .seconds(6 * 3600))
        while clock.now < limit, ledger.violations.isEmpty {
            runAll()
            look(at: process)
            if broker.pending.isEmpty, process.service.status.isIdle { broker.close() }
            if process.report.value.withLock({ $0 != nil }) { break }
            passTime(atMost: .seconds(60))
            broker.bringAgain()
        }
        switch process.report.value.withLock({ $0 }) {
        case nil: ledger.violate("not all ended within six hours without faults: \(process.service.status)")
        case .failure(let error): ledger.violate("the service failed: \(error)")
        case .success(let report) where report != DrainReport(): ledger.violate("something was left: \(report)")
        case .success: break
        }
        if !broker.pending.isEmpty { ledger.violate("\(broker.pending.count) messages were never acknowledged") }
        if !disk.rows.isEmpty { ledger.violate("\(disk.rows.count) payloads stayed in the inbox") }
    }
}

/// Whether failures have stopped.
private final class Peace: Sendable {
    private let made = Atomic<Bool>(false)
    var isMade: Bool { made.load(ordering: .relaxed) }
    func make() { made.store(true, ordering: .relaxed) }
}

extension ServiceStatus {
    /// Whether no message is left.
    fileprivate var isIdle: Bool {
        var idle = ServiceStatus()
        (idle.isOpen, idle.failures) = (isOpen, failures)
        return self == idle
    }
}
