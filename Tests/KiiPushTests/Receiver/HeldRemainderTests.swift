import KiiPushTesting
import Testing

@testable import KiiPush

/// Messages of several routes, of which the guard lets some pass and holds others.
@Suite(.timeLimit(.minutes(1)))
struct HeldRemainderTests {
    /// One route that passes as many as come, one that passes one in ten seconds.
    private static let freeAndTight: [(id: String, loop: RouteLoopPolicy)] = [
        ("free", RouteLoopPolicy(rate: .unlimited)), ("tight", .standard),
    ]

    @Test("the routes that may handle it do so now, the others in their turn; the message is counted once")
    func remainder() async throws {
        let bench = HoldingBench(Self.freeAndTight)
        #expect(await bench.send(1) == "handled")
        #expect(await bench.send(2) == "handled")
        #expect(bench.log.events == ["free 1", "tight 1", "free 2"])
        let held = try #require(bench.receiver.held.first)
        #expect(held.isRemainder)
        #expect(held.routes == ["tight"])
        #expect(bench.leases == 0)
        #expect(await bench.send(2) == "duplicate (done)")
        bench.wait(60)
        #expect(await bench.handleDue() == ["handled"])
        #expect(await held.end()?.description == "handled")
        #expect(bench.log.events == ["free 1", "tight 1", "free 2", "tight 2"])
        #expect(bench.receiver.metrics.nonzero == ["handled: 2", "duplicate done: 1"])
        #expect(bench.leases == 0)
    }

    @Test("a remainder that fails is dead-lettered, for no transport delivers it again, and can be replayed")
    func failing() async throws {
        let bench = HoldingBench(Self.freeAndTight)
        _ = await bench.send(1)
        _ = await bench.send(2)
        bench.isFailing.set()
        bench.wait(60)
        #expect(await bench.handleDue() == ["deadLettered (failed)"])
        let letter = try #require(bench.letters.letters().first)
        #expect(letter.reason == .failed)
        #expect(letter.routes == ["tight"])
        #expect(bench.receiver.metrics.nonzero == ["handled: 2"])

        #expect(await bench.receiver.replay(letter).name == "failed")
        #expect(bench.letters.letters().count == 1)
        bench.isFailing.clear()
        #expect(await bench.receiver.replay(letter).name == "handled")
        #expect(bench.letters.letters().isEmpty)
        #expect(bench.log.events.suffix(3) == ["tight 2", "tight 2", "tight 2"])
    }

    @Test("where the routes that may handle it fail, nothing is held: it is delivered again")
    func failingNow() async {
        let bench = HoldingBench(Self.freeAndTight)
        _ = await bench.send(1)
        bench.isFailing.set()
        #expect(await bench.send(2) == "failed (free)")
        #expect(bench.receiver.held.isEmpty)
        #expect(bench.leases == 0)
        bench.isFailing.clear()
        #expect(await bench.send(2) == "handled")
        #expect(bench.receiver.held.count == 1)
    }

    @Test("a remainder is dropped, released or killed like any other held message, and counted no second time")
    func otherEnds() async {
        let bench = HoldingBench(Self.freeAndTight)
        for number in 1...4 { _ = await bench.send(number) }
        let ends = EndLog(bench.receiver.held)
        #expect(bench.receiver.dropHeld { $0.message.modifiedAt == 2 } == 1)
        #expect(await bench.receiver.releaseHeld { $0.message.modifiedAt == 3 }.map(\.name) == ["handled"])
        bench.loopGuard.kill(.route("tight"), for: .seconds(60))
        #expect(await ends.ends() == ["2: looped (rate)", "3: handled", "4: deadLettered (killSwitch)"])
        #expect(bench.letters.letters().map(\.routes) == [["tight"]])
        #expect(bench.receiver.metrics.nonzero == ["handled: 4"])
        #expect(bench.receiver.metrics.routes.map(\.handled) == [4, 2])
    }

    @Test("ending a remainder does not take back what its other routes have handled")
    func countStays() async {
        let bench = HoldingBench([
            ("loose", RouteLoopPolicy(rate: .own(LoopRate(messages: 3)))), ("tight", .standard),
        ])
        for number in 1...3 { #expect(await bench.send(number) == "handled") }
        #expect(bench.receiver.dropHeld() == 2)
        // The fourth would pass if dropping had taken back the second's and the third's.
        #expect(await bench.send(4) == "held (rate)")
        #expect(bench.receiver.held.first?.routes == ["loose", "tight"])
    }

    @Test("a route that is killed beside one that is held does not take the message from it", arguments: [true, false])
    func killedBesideHeld(isKilledFirst: Bool) async {
        let names = isKilledFirst ? ["off", "tight"] : ["tight", "off"]
        let bench = HoldingBench(names.map { ($0, .standard) })
        bench.loopGuard.kill(.route("off"), for: .seconds(3600))
        #expect(await bench.send(1) == "handled")
        #expect(await bench.send(2) == "held (rate)")
        bench.wait(60)
        #expect(await bench.handleDue() == ["handled"])
        #expect(bench.log.events == ["tight 1", "tight 2"])
    }

    @Test("a route whose write is refused beside one that is held does not take the message from it")
    func refusedBesideHeld() async {
        let bench = HoldingBench([
            ("refused", RouteLoopPolicy(ownBucket: .refuse, rate: .unlimited)), ("tight", .standard),
        ])
        #expect(await bench.send(1) == "looped (ownBucket)")
        #expect(await bench.send(2) == "looped (ownBucket)")
        #expect(bench.receiver.held.map(\.routes) == [["tight"]])
        bench.wait(60)
        #expect(await bench.handleDue() == ["handled"])
        #expect(bench.log.events == ["refused 1", "tight 1", "refused 2", "tight 2"])
    }

    @Test("a route that a later stage stops counts for nothing")
    func stoppedLater() async {
        let isStopping = Flag()
        let bench = HoldingBench(
            [("early", RouteLoopPolicy(rate: .own(LoopRate(messages: 2)))), ("late", .standard)],
            stage: { message in
                if isStopping.isSet { message.stopRoutes(.refused(.other("test"))) { $0.id == "early" } }
                return .pass
            })
        #expect(await bench.send(1) == "handled")
        isStopping.set()
        // The first route would pass it, the stage behind stops it there, and the second one holds it.
        #expect(await bench.send(2) == "held (rate)")
        #expect(bench.receiver.held.map(\.routes) == [["late"]])
        isStopping.clear()
        #expect(await bench.letGo() == ["handled"])
        bench.wait(3)
        #expect(await bench.handleDue().isEmpty)
        // Of the two that may pass the first route, one has.
        #expect(await bench.send(3) == "handled")
        #expect(bench.log.events == ["early 1", "late 1", "late 2", "early 3", "late 3"])
    }

    @Test("a message that two breakers hold is left to the second when the first lets it go")
    func twoBreakers() async {
        let bench = HoldingBench([
            ("first", .standard), ("second", RouteLoopPolicy(rate: .own(LoopRate(messages: 2)))),
        ])
        for number in 1...2 { #expect(await bench.send(number) == "handled") }
        bench.wait(4)
        #expect(await bench.send(3) == "held (rate)")
        bench.wait(1)
        #expect(await bench.handleDue() == ["handled", "handled"])
        // The first one's breaker has let both go and watches; the second one's has just opened.
        #expect(await bench.send(4) == "held (rate)")
        #expect(bench.receiver.held.map(\.routes) == [["second"], ["first", "second"]])
        _ = await bench.letGo()
        #expect(bench.receiver.held.isEmpty)
        for route in ["first", "second"] {
            #expect(bench.log.events.filter { $0.hasPrefix(route) } == (1...4).map { "\(route) \($0)" })
        }
        #expect(bench.log.events.last == "second 4")
        #expect(bench.receiver.metrics.nonzero == ["handled: 4"])
    }

    @Test(
        "a remainder that finds no room is dead-lettered, and where there is no room either the message is delivered again"
    )
    func noRoom() async throws {
        let bench = HoldingBench(Self.freeAndTight, letters: InMemoryDeadLetterStore(capacity: 1), isTopic: true)
        bench.loopGuard.heldBudget.messagesPerKey = 100
        for number in 0...100 { #expect(await bench.send(number) == "handled") }
        #expect(bench.receiver.held.count == 100)
        #expect(await bench.send(101) == "handled")
        #expect(bench.letters.letters().map(\.routes) == [["tight"]])
        // Into one of its own the next would be folded.
        bench.letters.remove(1)
        _ = try bench.letters.add(
            DeadLetter(payload: RawPayload("x"), reason: .failed, routes: [], arrivedAt: .seconds(0)))
        #expect(await bench.send(102) == "failed (deadLetters)")
        #expect(bench.leases == 0)
        bench.receiver.dropHeld()
        #expect(await bench.send(102) == "handled")
        #expect(bench.receiver.held.map { $0.message.benchNumber } == [102])
        #expect(bench.receiver.metrics.nonzero == ["handled: 103", "failed stage: 1"])
    }

    @Test("a route that is registered meanwhile does not get a message that was held for others")
    func routeAdded() async {
        let bench = HoldingBench()
        _ = await bench.send(1)
        _ = await bench.send(2)
        let log = bench.log
        bench.receiver.onAny("new") { message, _ in log.add("new \(message.modifiedAt ?? -1)") }
        bench.wait(60)
        #expect(await bench.handleDue() == ["handled"])
        #expect(bench.log.events == ["r 1", "r 2"])
    }
}
