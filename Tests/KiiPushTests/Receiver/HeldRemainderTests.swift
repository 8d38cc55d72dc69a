import KiiPushTesting
import Testing

@testable import KiiPush

/// Messages of several routes, of which the guard lets some pass and holds others.
@Suite(.timeLimit(.minutes(5)))
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

    @Test("a remainder that fails is put aside, for no transport delivers it again, and can be replayed")
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

    @Test("a route that a later stage stops was no probe, and counts for nothing")
    func stoppedLater() async {
        let isStopping = Flag()
        let bench = HoldingBench(
            [
                ("early", RouteLoopPolicy(rate: .own(LoopRate(messages: 1, coolDown: .seconds(30))))),
                ("late", .standard),
            ],
            stage: { message in
                if isStopping.isSet { message.stopRoutes(.refused(.other("test"))) { $0.id == "early" } }
                return .pass
            })
        #expect(await bench.send(1) == "handled")
        #expect(await bench.send(2) == "held (rate)")
        bench.receiver.dropHeld()
        bench.wait(30)
        // The first route's breaker takes it for its probe; the stage behind stops it there, and the second one holds it.
        isStopping.set()
        #expect(await bench.send(3) == "held (rate)")
        #expect(bench.receiver.held.map(\.routes) == [["late"]])
        isStopping.clear()
        bench.wait(30)
        #expect(await bench.handleDue() == ["handled"])
        bench.wait(10)
        #expect(await bench.handleDue().isEmpty)
        #expect(await bench.send(4) == "handled")
        #expect(bench.log.events == ["early 1", "late 1", "late 3", "early 4", "late 4"])
    }

    @Test("a message that two breakers hold is left to the second when the first lets it go")
    func twoBreakers() async {
        let bench = HoldingBench([
            ("short", RouteLoopPolicy(rate: .own(LoopRate(messages: 1, coolDown: .seconds(10))))),
            ("long", RouteLoopPolicy(rate: .own(LoopRate(messages: 1, coolDown: .seconds(100))))),
        ])
        #expect(await bench.send(1) == "handled")
        #expect(await bench.send(2) == "held (rate)")
        bench.wait(10)
        #expect(await bench.handleDue() == ["handled"])
        #expect(bench.log.events == ["short 1", "long 1", "short 2"])
        #expect(bench.receiver.held.map(\.routes) == [["long"]])
        #expect(bench.receiver.held.map(\.isRemainder) == [true])
        bench.wait(90)
        #expect(await bench.handleDue() == ["handled"])
        #expect(bench.log.events == ["short 1", "long 1", "short 2", "long 2"])
        #expect(bench.receiver.metrics.nonzero == ["handled: 2"])
    }

    @Test(
        "a remainder that finds no room is put aside, and where there is no room either the message is delivered again")
    func noRoom() async throws {
        let bench = HoldingBench(Self.freeAndTight, letters: InMemoryDeadLetterStore(capacity: 1))
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
        #expect(bench.receiver.held.map { $0.message.modifiedAt } == [102])
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
