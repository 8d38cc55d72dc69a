import KiiPushTesting
import Testing

@testable import KiiPush

/// Messages that are held, through the receiver: how each ends, and what is told of it meanwhile.
@Suite(.timeLimit(.minutes(1)))
struct HeldMessageTests {
    @Test("held, then handled one after the other, oldest first, with every count right at every step")
    func lifeOfOne() async {
        let bench = HoldingBench()
        #expect(await bench.send(1) == "handled")
        for number in 2...5 { #expect(await bench.send(number) == "held (rate)") }
        #expect(bench.receiver.held.map { $0.message.modifiedAt } == [2, 3, 4, 5])
        #expect(bench.receiver.held.map(\.id) == bench.receiver.held.map(\.id).sorted())
        #expect(bench.receiver.metrics.nonzero == ["handled: 1", "held rate: 4"])
        #expect(bench.receiver.metrics.received == 5)
        #expect(bench.receiver.metrics.routes.map(\.held) == [4])
        #expect(bench.leases == 4)

        bench.wait(4)
        #expect(await bench.handleDue().isEmpty)
        #expect(bench.loopGuard.nextDue == MonotonicInstant(nanoseconds: 4_500_000_000))
        bench.wait(1)
        let tried = EndLog(Array(bench.receiver.held.prefix(1)))
        #expect(await bench.handleDue() == ["handled"])
        #expect(await tried.ends() == ["2: handled"])
        #expect(bench.receiver.metrics.nonzero == ["handled: 2", "held rate: 3"])
        #expect(bench.leases == 3)
        bench.wait(1)
        #expect(await bench.handleDue().isEmpty)
        bench.wait(1)
        #expect(await bench.handleDue() == ["handled", "handled", "handled"])
        #expect(bench.log.events == (1...5).map { "r \($0)" })
        #expect(bench.receiver.held.isEmpty)
        #expect(bench.receiver.metrics.nonzero == ["handled: 5"])
        #expect(bench.receiver.metrics.received == 5)
        #expect(bench.leases == 0)
        #expect(bench.loopGuard.nextDue == nil)
        #expect(await bench.send(6) == "handled")
    }

    @Test("a copy of a held message is told to come again at once, and is a duplicate when it has ended")
    func copies() async throws {
        let bench = HoldingBench()
        _ = await bench.send(1)
        let outcome = await bench.receiver.receive(bench.payload(2))
        #expect("\(outcome)" == "held (rate)")
        #expect(outcome.disposition == .retryLater)
        for style in PayloadFixture.KeyStyle.allCases {
            // Nobody lets the first one go, so this would wait for ever.
            let copy = await bench.receiver.receive(bench.payload(2, "o", style))
            #expect("\(copy)" == "duplicate (inFlight)")
            #expect(copy.disposition == .retryLater)
        }
        bench.wait(60)
        #expect(await bench.handleDue() == ["handled"])
        let copy = await bench.receiver.receive(bench.payload(2))
        #expect("\(copy)" == "duplicate (done)")
        #expect(copy.disposition == .accept)
        #expect(bench.log.events == ["r 1", "r 2"])
        #expect(bench.receiver.metrics.received == 6)
    }

    /// A way for a held message to end.
    struct End: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let act: @Sendable (HoldingBench) async -> Void
        let outcome: String
        /// What the store is told.
        let store: String
        var letters: [DeadLetter.Reason] = []
        /// Whether it is handled when it is delivered again.
        var again = "duplicate (done)"
    }

    private static let bucket = KillTarget.bucket(
        KiiURI(appID: "0123abcd", owner: .app, resource: .bucket(name: "settings", isEncrypted: false)))

    static let ends: [End] = [
        End(
            testDescription: "its turn",
            act: {
                $0.wait(60); _ = await $0.handleDue()
            }, outcome: "handled", store: "commit"),
        End(
            testDescription: "its turn, and its handler fails",
            act: {
                $0.isFailing.set(); $0.wait(60); _ = await $0.handleDue(); $0.isFailing.clear()
            },
            outcome: "failed (r)", store: "release", again: "held (rate)"),
        End(testDescription: "released", act: { await $0.receiver.releaseHeld() }, outcome: "handled", store: "commit"),
        End(
            testDescription: "released, and its handler fails",
            act: {
                $0.isFailing.set(); await $0.receiver.releaseHeld(); $0.isFailing.clear()
            }, outcome: "failed (r)",
            store: "release", again: "held (rate)"),
        End(testDescription: "dropped", act: { $0.receiver.dropHeld() }, outcome: "looped (rate)", store: "commit"),
        End(
            testDescription: "its route killed", act: { $0.loopGuard.kill(.route("r"), for: .seconds(1)) },
            outcome: "deadLettered (killSwitch)", store: "commit", letters: [.killSwitch]),
        End(
            testDescription: "its bucket killed",
            act: { $0.loopGuard.kill(bucket, for: .seconds(1)) },
            outcome: "deadLettered (killSwitch)", store: "commit", letters: [.killSwitch]),
        End(
            testDescription: "everything killed by a list", act: { $0.loopGuard.setKills([.everything: .seconds(1)]) },
            outcome: "deadLettered (killSwitch)", store: "commit", letters: [.killSwitch]),
    ]

    @Test("a listener that keeps the traces of held messages keeps nothing that keeps the listener", arguments: ends)
    func nothingIsKeptForEver(end: End) async {
        weak var kept: HeldMessage?
        do {
            let bench = HoldingBench()
            let traces = TraceLog()
            bench.receiver.onTrace { traces.add($0) }
            _ = await bench.send(1)
            _ = await bench.send(2)
            kept = bench.receiver.held.first
            #expect(kept != nil)
            await end.act(bench)
        }
        #expect(kept == nil)
    }

    @Test("a held message ends once: counted, settled, told to those who wait, and traced", arguments: ends)
    func end(end: End) async throws {
        let bench = HoldingBench()
        let traces = TraceLog()
        bench.receiver.onTrace { traces.add($0) }
        _ = await bench.send(1)
        #expect(await bench.send(2) == "held (rate)")
        let waiting = EndLog(bench.receiver.held)
        let held = try #require(bench.receiver.held.first)
        let before = bench.store.log.events.count

        await end.act(bench)
        #expect(await waiting.ends() == ["2: \(end.outcome)"])
        #expect(await held.end()?.description == end.outcome)
        #expect(Array(bench.store.log.events.dropFirst(before)) == [end.store])
        #expect(bench.letters.letters().map(\.reason) == end.letters)
        #expect(bench.letters.letters().map(\.routes) == end.letters.map { _ in ["r"] })
        #expect(bench.receiver.held.isEmpty)
        #expect(bench.receiver.metrics.received == 2)
        #expect(bench.receiver.metrics.count("held") == 0)
        #expect(
            bench.receiver.metrics.count(String(end.outcome.prefix { $0 != " " })) == (end.outcome == "handled" ? 2 : 1)
        )
        #expect(
            traces.traces.map { "\($0.messageID) \($0.outcome)" } == ["1 handled", "2 held (rate)", "2 \(end.outcome)"])
        bench.loopGuard.revive(.everything)
        bench.wait(1)
        #expect(await bench.send(2) == end.again)
    }

    @Test("what is not meant stays: a kill of another route, bucket or app, and one whose end is over")
    func notMeant() async throws {
        let bench = HoldingBench()
        _ = await bench.send(1)
        _ = await bench.send(2)
        for text in ["x", "kiicloud://buckets/other", "kiicloud://ffff0000/buckets/settings"] {
            bench.loopGuard.kill(try #require(KillTarget(text)), for: .seconds(60))
        }
        bench.loopGuard.kill(.everything, for: .seconds(-1))
        bench.loopGuard.kill(.route("r"), for: .zero)
        #expect(bench.receiver.held.count == 1)
        #expect(bench.receiver.dropHeld { $0.message.modifiedAt == 7 } == 0)
        #expect(await bench.receiver.releaseHeld { $0.message.modifiedAt == 7 }.isEmpty)
        #expect(bench.receiver.held.count == 1)
    }

    @Test("some can be chosen, by whatever is known of them, also by asking the guard")
    func chosen() async {
        let bench = HoldingBench()
        _ = await bench.send(1)
        for number in 2...5 { _ = await bench.send(number) }
        #expect(bench.receiver.dropHeld { $0.message.modifiedAt == 3 } == 1)
        let receiver = bench.receiver
        #expect(await receiver.releaseHeld { $0.id == receiver.held.last?.id }.map(\.name) == ["handled"])
        #expect(bench.receiver.held.map { $0.message.modifiedAt } == [2, 4])
        #expect(bench.log.events == ["r 1", "r 5"])
    }

    @Test("a message for two routes, one of which is killed, goes to the other in its turn")
    func oneOfTwoKilled() async throws {
        let bench = HoldingBench([("a", .standard), ("b", RouteLoopPolicy(rate: .own(LoopRate(messages: 1))))])
        _ = await bench.send(1)
        #expect(await bench.send(2) == "held (rate)")
        bench.loopGuard.kill(.route("a"), for: .seconds(3600))
        #expect(bench.receiver.held.count == 1, "the other route may still handle it")
        bench.wait(60)
        #expect(await bench.handleDue() == ["handled"])
        #expect(bench.log.events == ["a 1", "b 1", "b 2"])
        // What waited for the killed one is not lost: it can be replayed to it.
        let letter = try #require(bench.letters.letters().first)
        #expect(letter.reason == .killSwitch && letter.routes == ["a"])
        bench.loopGuard.revive(.route("a"))
        #expect(await bench.receiver.replay(letter).name == "handled")
        #expect(bench.log.events == ["a 1", "b 1", "b 2", "a 2"])
    }

    @Test("an honest message that was held is not taken for the event of a write announced since")
    func echoAfterHolding() async {
        let bench = HoldingBench()
        #expect(await bench.send(1) == "handled")
        #expect(await bench.receiver.receive(bench.payload(2, "o", .short)).name == "held")
        bench.wait(60)
        let object = KiiObject(bucket: KiiBucket(scope: .app, name: "settings"), id: "o")
        _ = bench.loopGuard.announce(object)
        #expect(await bench.handleDue() == ["handled"])
        // And the event itself still finds the announcement.
        #expect(await bench.receiver.receive(bench.payload(3, "o", .short)).description == "looped (echo)")
    }

    @Test("a task that is cancelled while it waits for an end is told nil, and the message ends for the others")
    func cancelledWaiter() async throws {
        let bench = HoldingBench()
        _ = await bench.send(1)
        _ = await bench.send(2)
        let held = try #require(bench.receiver.held.first)
        let waiting = Task { await held.end() }
        waiting.cancel()
        #expect(await waiting.value == nil)
        let gate = Gate()
        let late = Task {
            await gate.wait()
            return await held.end()
        }
        late.cancel()
        gate.open()
        #expect(await late.value == nil)
        let other = EndLog([held])
        bench.receiver.dropHeld()
        #expect(await other.ends() == ["2: looped (rate)"])
    }

    @Test("run lets each go in its turn on the receiver's clock, until it is cancelled")
    func run() async {
        let bench = HoldingBench()
        _ = await bench.send(1)
        for number in 2...4 { _ = await bench.send(number) }
        let ends = EndLog(bench.receiver.held)
        let running = Task { await bench.receiver.run() }
        // It looks once a second, so each second is waited for to be slept through.
        while bench.clock.now < .seconds(10) {
            while bench.clock.nextWake == nil { await Task.yield() }
            #expect(bench.clock.nextWake.map { $0 <= bench.clock.now.advanced(by: .seconds(1)) } == true)
            bench.clock.advance(by: .milliseconds(500))
        }
        #expect(await ends.ends() == ["2: handled", "3: handled", "4: handled"])
        running.cancel()
        await running.value
    }

    @Test("what is due when its task is cancelled stays held, for a handler could only fail")
    func cancelledRun() async {
        let bench = HoldingBench()
        _ = await bench.send(1)
        _ = await bench.send(2)
        bench.wait(60)
        let gate = Gate()
        let task = Task {
            await gate.wait()
            return await bench.handleDue()
        }
        task.cancel()
        gate.open()
        #expect(await task.value.isEmpty)
        #expect(bench.receiver.held.count == 1)
        #expect(await bench.handleDue() == ["handled"])
    }

    @Test("a receiver that is let go leaves nothing behind: what it held has ended, and is to be delivered again")
    func letGo() async throws {
        let clock = ManualClock()
        let store = SpyStore()
        let loopGuard = LoopGuard(settings: LoopSettings(rate: LoopRate(messages: 1)), clock: clock)
        func makeReceiver() -> PushReceiver {
            let receiver = PushReceiver(clock: clock) {
                Deduplicator(store: store, secret: .published, clock: clock)
                loopGuard
            }
            receiver.onAny("r") { _, _ in }
            return receiver
        }
        let payloads = (1...3).map { PayloadFixture.pushToApp(sentAt: $0, modifiedAt: nil).payload(.long) }
        let other = makeReceiver()
        var receiver: PushReceiver? = makeReceiver()
        weak let gone = receiver
        for payload in payloads { _ = await receiver?.receive(payload) }
        let ends = EndLog(receiver?.held ?? [])
        #expect(loopGuard.held.count == 2)
        #expect(other.held.isEmpty)

        receiver = nil
        #expect(gone == nil)
        #expect(loopGuard.held.isEmpty)
        #expect(await ends.ends() == ["-1: failed (receiver)", "-1: failed (receiver)"])
        #expect(store.log.events == ["fresh", "commit", "fresh", "fresh", "release", "release"])
        clock.advance(by: .seconds(60))
        #expect(await other.handleDue().isEmpty)
        #expect(await other.receive(payloads[1]).name == "handled")
    }

    @Test("of two receivers on one guard either lets the other's messages go, to the other's handlers")
    func twoReceivers() async {
        let clock = ManualClock()
        let loopGuard = LoopGuard(settings: LoopSettings(rate: LoopRate(messages: 1)), clock: clock)
        let log = EventLog()
        let receivers = ["left", "right"].map { name in
            let receiver = PushReceiver(clock: clock) {
                Deduplicator(clock: clock)
                loopGuard
            }
            receiver.onAny("r") { _, _ in log.add(name) }
            return receiver
        }
        func send(_ index: Int, _ number: Int64) async -> String {
            await receivers[index].receive(PayloadFixture.pushToApp(sentAt: number, modifiedAt: nil).payload(.long))
                .name
        }
        #expect(await send(0, 1) == "handled")
        // One guard, one loop: the other's count as well.
        #expect(await send(1, 2) == "held")
        #expect(await send(0, 3) == "held")
        #expect(receivers.map { $0.held.count } == [1, 1])
        #expect(receivers[0].dropHeld { $0.message.sentAt == 2 } == 0)
        clock.advance(by: .seconds(60))
        #expect(await receivers[0].handleDue().map(\.name) == ["handled"])
        clock.advance(by: .seconds(10))
        #expect(await receivers[1].handleDue().map(\.name) == ["handled"])
        #expect(log.events == ["left", "right", "left"])
        #expect(receivers.map { $0.metrics.nonzero } == [["handled: 2"], ["handled: 1"]])
    }
}
