import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// What the loop guard lets wait, through a receiver without a service.
struct PacedMessageTests {
    // MARK: Which wait

    @Test("the twenty-first message of one object waits, others pass")
    func oneObject() async {
        let bench = PacingBench()
        await bench.spend()
        #expect(await bench.send(21) == "paced")
        await bench.spend("other", from: 101)
        #expect(await bench.send(121, "other") == "paced")
        #expect(bench.receiver.metrics.nonzero == ["handled: 40", "paced: 2"])
        #expect(bench.receiver.metrics.received == 40 && bench.receiver.metrics.routes.map(\.paced) == [2])
        #expect(bench.leases == 0, "what is to come again is not reserved")
    }

    @Test("a paced message says when to deliver it again, the same time until then")
    func again() async {
        let bench = PacingBench()
        await bench.spend()
        let payload = bench.payload(21).arrived(at: bench.clock.now)
        var due: MonotonicInstant?
        for _ in 0..<3 {
            let outcome = await bench.receiver.receive(payload)
            guard case .paced(let until) = outcome else { return #expect(Bool(false), "\(outcome)") }
            #expect(outcome.disposition == .retryLater && !outcome.isRemembered && outcome.reason == nil)
            #expect(until > bench.clock.now && until == due ?? until)
            due = until
            bench.clock.advance(by: .milliseconds(100))
        }
        bench.clock.advance(by: bench.clock.now.duration(to: due ?? bench.clock.now))
        #expect(await bench.receiver.receive(payload).name == "handled")
        #expect(await bench.receiver.receive(payload).description == "duplicate (done)")
        #expect(bench.log.events.last == "r 21")
    }

    @Test("a key pauses at the same time of day on every device, also after its wall clock was set")
    func common() async {
        let bench = PacingBench([("r", .every(.seconds(60)))])
        let times: [Int64] = [1_700_000_000_000, 1_700_000_000_000, 3_460_789, 1_700_000_123_456]
        for (number, wall) in times.enumerated() {
            bench.clock.wallNow = wall
            await bench.spend("o\(number)", from: number * 100)
            guard case .paced(let until) = await bench.test.send(bench.payload(number * 100 + 20, "o\(number)")).outcome
            else { return #expect(Bool(false)) }
            let now = Double(wall % 86_400_000) / 1000
            let pause = Pace.nextPause(after: now, isLong: false) - now
            #expect(abs(bench.clock.now.duration(to: until) / .seconds(1) - pause) < 0.001)
            bench.clock.advance(by: .seconds(11))
        }
    }

    @Test("a stream is paused once, also where its messages overtake each other")
    func outOfOrder() async {
        let bench = PacingBench([("r", .standard)])
        var waits: [Int] = []
        for number in 0..<600 {
            if await bench.send(number ^ 1) == "paced" { waits.append(number / 10) }
            _ = await bench.pass(0.1)
        }
        #expect(!waits.isEmpty && (waits.last ?? 60) < 20, "seconds in which messages had to wait: \(waits)")
        #expect(bench.log.events.count == 600)
    }

    @Test("when more keys wait than have a pace of their own, further ones wait as new keys do")
    func manyKeys() async {
        let bench = PacingBench([("r", .standard)])
        let atOnce = Int(Pace.newKeyBurst + Pace.newKeyAllowance)
        for number in 0..<Paces.mostKeys + atOnce + 100 { _ = await bench.send(number, "o\(number)") }
        #expect(bench.log.events.count == atOnce)
    }

    @Test("letters that wait pass in their order, and a copy of one that waits waits with it")
    func letters() async {
        let bench = PacingBench([("r", .every(.milliseconds(500)))], isTopic: true)
        await bench.spend()
        for number in 21...40 { #expect(await bench.send(number) == "paced") }
        #expect(await bench.send(21) == "paced")
        let ends = await bench.pass(60)
        #expect(ends.filter { $0.hasSuffix("handled") } == (21...40).map { "\($0) handled" })
        #expect(ends.filter { !$0.hasSuffix("handled") } == ["21 duplicate (done)"])
        #expect(bench.log.events == (1...40).map { "r \($0)" })
    }

    @Test("an unlimited route gets every message at once, and one with its own pace at that pace")
    func paces() async {
        let unlimited = PacingBench([("r", .unlimited)])
        for number in 1...500 { #expect(await unlimited.send(number) == "handled") }
        #expect(unlimited.loopGuard.paced.isEmpty)
        let own = PacingBench([("r", .every(.milliseconds(100)))])
        for number in 1...100 {
            #expect(await own.send(number) == "handled")
            own.clock.advance(by: .milliseconds(number >= 20 ? 101 : 0))
        }
        await own.spend("other", from: 201)
        #expect(await own.send(221, "other") == "paced")
    }

    @Test("new objects beyond 2,020 wait, for one route or for many; known ones do not")
    func newKeys() async {
        let bench = PacingBench()
        for number in 1...2020 { #expect(await bench.send(number, "o\(number)") == "handled") }
        #expect(await bench.send(2021, "o2021") == "paced")
        #expect(bench.loopGuard.paced.map(\.level) == [.route])
        #expect(await bench.pass(10) == ["2021 handled"])

        let device = PacingBench([])
        for route in 1...3 { device.receiver.onPushToApp(id: "r\(route)", bucket: .exactly("b\(route)")) { _, _ in } }
        var outcomes: [String] = []
        for number in 0..<2021 {
            let fixture = PayloadFixture.pushToApp(bucket: "b\(number % 3 + 1)", object: "o\(number)", sender: nil)
            outcomes.append(await device.test.send(fixture).outcome.description)
        }
        #expect(outcomes.prefix(2020).allSatisfy { $0 == "handled" } && outcomes.last == "paced")
        #expect(device.loopGuard.paced.map(\.level) == [.device])
    }

    @Test("a paced message that is delivered again waits once, and is no longer one of a new key")
    func waitsOnce() async {
        let bench = PacingBench(isTopic: true)
        await bench.spend()
        var payload = bench.payload(21)
        #expect(await bench.receiver.receive(payload).name == "paced")
        payload.isRedelivered = true
        #expect(await bench.receiver.receive(payload).name == "paced")
        #expect(bench.waiting == 1)
        for number in 0..<2000 { #expect(await bench.send(100 + number, "o\(number)") == "handled") }
        #expect(await bench.send(5000, "new") == "paced")
        #expect(bench.loopGuard.paced.first { $0.level == .route }?.waiting == 1)
    }

    @Test("a message of several routes waits for all of them")
    func severalRoutes() async {
        let bench = PacingBench([("quick", .every(.milliseconds(1))), ("slow", .every(.seconds(8)))])
        bench.receiver.onPushToApp(id: "also", bucket: "settings", object: "x") { _, _ in }
        await bench.spend()
        bench.clock.advance(by: .seconds(1))
        #expect(await bench.send(21) == "paced")
        for _ in 0..<5 { #expect(await bench.send(21) == "paced") }
        #expect(bench.loopGuard.paced.map(\.route) == ["slow"])
        #expect(bench.log.events.count == 40, "neither route has got it")
        #expect(await bench.pass(8.1).first == "21 handled")
        #expect(bench.log.events.suffix(2) == ["quick 21", "slow 21"])
    }

    @Test(
        "a message that a later middleware does not let pass costs its keys nothing",
        arguments: [.refuse("not now"), .drop(.superseded), .later(until: .seconds(3600))] as [Verdict])
    func givenBack(verdict: Verdict) async {
        let isRefusing = Flag()
        isRefusing.set()
        let bench = PacingBench { _ in isRefusing.isSet ? verdict : .pass }
        for number in 1...100 { #expect(await bench.send(number) != "handled") }
        isRefusing.clear()
        await bench.spend(from: 101)
        #expect(await bench.send(121) == "paced")
    }

    // MARK: While it waits

    @Test("a replayed message passes a paced key and does not count")
    func replay() async {
        let bench = PacingBench()
        await bench.spend()
        #expect(await bench.send(21) == "paced")
        for number in 31...60 {
            let letter = DeadLetter(
                payload: bench.payload(number), reason: .failed, routes: ["r"], arrivedAt: bench.clock.now)
            #expect(await bench.receiver.replay(letter).name == "handled")
        }
        #expect(await bench.pass(8.1) == ["21 handled"])
    }

    @Test("a message killed while waiting ends, or continues after the kill")
    func killed() async {
        let bench = PacingBench()
        await bench.spend()
        for number in 21...22 { #expect(await bench.send(number) == "paced") }
        bench.loopGuard.kill(.route("r"), for: .seconds(10))
        #expect(await bench.pass(9) == ["21 looped (killSwitch)", "22 looped (killSwitch)"])
        #expect(bench.waiting == 0)
        bench.clock.advance(by: .seconds(60))
        #expect(await bench.send(23) == "handled")
    }

    @Test("a waiting message is not mistaken for a later write's event")
    func echo() async {
        let bench = PacingBench()
        await bench.spend()
        #expect(await bench.send(21) == "paced")
        bench.clock.advance(by: .seconds(5))
        _ = bench.loopGuard.announce(KiiObject(bucket: KiiBucket(scope: .app, name: "settings"), id: "o"))
        let ends = await bench.pass(12)
        #expect(ends == ["21 handled"])
        // And the event itself still finds the announcement.
        #expect(await bench.send(22) == "looped (echo)")
    }

    @Test("a failed message has used its turn, and waits when it comes again")
    func failed() async {
        let bench = PacingBench()
        bench.isFailing.set()
        for number in 1...20 { #expect(await bench.send(number) == "failed (r)") }
        bench.isFailing.clear()
        #expect(await bench.send(1) == "paced")
    }

    @Test("each wait is traced with the step that lets it wait, and counted; its end too")
    func traces() async {
        let bench = PacingBench()
        let traces = TraceLog()
        bench.receiver.onTrace { traces.add($0) }
        await bench.spend()
        await bench.send(21)
        _ = await bench.pass(8.1)
        let last = traces.traces.suffix(2).map { $0 }
        #expect(last.map(\.outcome.name) == ["paced", "handled"])
        #expect(last[0].stages.last.map { "\($0.name): \($0.verdict)" } == "LoopGuard: later")
        #expect(last[0].handlers.isEmpty)
        #expect(last[1].waitedNanoseconds > 0, "since its first arrival")
        #expect(bench.receiver.metrics.nonzero == ["handled: 21", "paced: 1"])
    }

    @Test("switching the pace off lets waiting messages pass and resets nothing")
    func paceOff() async {
        let bench = PacingBench()
        await bench.spend()
        for number in 21...23 { #expect(await bench.send(number) == "paced") }
        bench.loopGuard.settings = bench.loopGuard.settings.without(.pace)
        #expect(await bench.send(24) == "handled")
        bench.loopGuard.settings = .standard
        #expect(await bench.send(25) == "paced")
        bench.loopGuard.settings = bench.loopGuard.settings.without(.pace)
        #expect(await bench.pass(8.1) == ["21 handled", "22 handled", "23 handled", "25 handled"])
    }

    // MARK: Reports

    @Test("a key is listed while its messages wait, with its level, its subject and its route, and why in words")
    func snapshot() async throws {
        let bench = PacingBench()
        #expect(bench.loopGuard.paced.isEmpty)
        await bench.spend()
        bench.clock.advance(by: .seconds(1))
        await bench.send(21)
        let key = try #require(bench.loopGuard.paced.first)
        let subject = "kiicloud://buckets/settings/objects/o"
        #expect(key.level == .object && key.route == "r" && key.subject == subject && key.superseded == 0)
        #expect((.zero ... .microseconds(1)).contains(MonotonicInstant.seconds(1).duration(to: key.since)))
        #expect(
            key.sentence == "many changes of \(subject) came at once for route r: they wait some seconds, to see "
                + "whether they come by themselves; \"pace\": \"unlimited\" in the rule, or RouteOptions(pace: .unlimited), lifts this"
        )
        #expect(await bench.pass(60) == ["21 handled"] && bench.loopGuard.paced.isEmpty)
        let letters = PacingBench(isTopic: true)
        await letters.spend("news")
        await letters.send(21, "news")
        #expect(letters.loopGuard.paced.map(\.level) == [.letters])
        #expect(letters.loopGuard.paced.map(\.subject) == ["kiicloud://topics/news"])
    }

    @Test("a newer change replaces an older one only where all routes of that get the newer one")
    func otherRoutes() async {
        let bench = PacingBench([("a", .every(.seconds(8)))])
        let log = bench.log
        bench.receiver.onPushToApp(id: "b", object: "*", options: RouteOptions(pace: .unlimited)) { _, _ in log.add("b")
        }
        for number in 1...20 { #expect(await bench.send(number) == "handled") }
        await bench.send(21)
        await bench.send(22)
        let ends = await bench.pass(60)
        #expect(ends.sorted() == ["21 handled", "22 handled"])
        #expect(log.events.count { $0 == "b" } == 22)
    }

    @Test("listeners hear of a key when it begins to wait, at most once a minute, with one of its routes")
    func listener() async {
        let bench = PacingBench([("r", .every(.seconds(1)))], isTopic: true)
        let told = EventLog()
        let token = bench.loopGuard.onPaced { told.add("\($0.level) \($0.subject)") }
        await bench.spend("a")
        #expect(told.events.isEmpty)
        for number in 21...30 { await bench.send(number, "a") }
        #expect(told.events == ["letters kiicloud://topics/a"])
        await bench.spend("b", from: 101)
        await bench.send(121, "b")
        #expect(told.events == ["letters kiicloud://topics/a", "letters kiicloud://topics/b"])
        _ = await bench.pass(45)
        await bench.spend("a", from: 201)
        await bench.send(221, "a")
        #expect(told.events.count == 2, "within a minute")
        _ = await bench.pass(60)
        await bench.spend("a", from: 301)
        await bench.send(321, "a")
        #expect(told.events.count == 3)
        token.remove()
        _ = await bench.pass(100)
        await bench.spend("a", from: 401)
        await bench.send(421, "a")
        #expect(told.events.count == 3)
        let routes = PacingBench([("r", .every(.seconds(1))), ("s", .every(.seconds(1)))], isTopic: true)
        routes.loopGuard.onPaced { told.add($0.route) }
        await routes.spend("a")
        await routes.send(21, "a")
        #expect(told.events.last == "r" && told.events.count == 4 && routes.loopGuard.paced.count == 1)
    }
}
