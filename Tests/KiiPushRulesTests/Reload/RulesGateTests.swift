import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushRules
@testable import KiiPushTestSupport

/// New rules for a running receiver.
@Suite(.timeLimit(.minutes(1)))
struct RulesGateTests {
    private let clock = ManualClock()
    private let log = EventLog()

    private func text(_ rule: String, settings: String = "", tests: String = "") -> [UInt8] {
        Array(#"{"version":1,\#(settings)"rules":[\#(rule)]\#(tests.isEmpty ? "" : ",\"tests\":[\(tests)]")}"#.utf8)
    }

    private func test(_ outcome: String) -> String {
        #"{"name":"T","steps":[{"payload":{"n":1},"expect":{"outcome":"\#(outcome)"}}]}"#
    }

    private func started(_ checks: [RulesGate.Check] = []) throws -> (PushReceiver, RulesGate) {
        let rules = try RoutingRules(text(#"{"id":"a","then":{"handler":"first"},"pace":"2s"}"#))
        let receiver = PushReceiver(rules: rules, clock: clock)
        for name in ["first", "second"] { receiver.register(name) { [log] _, _ in log.add(name) } }
        try receiver.load(rules)
        return (receiver, RulesGate(receiver, needsTests: true, checks: checks))
    }

    private func loaded(_ file: [UInt8], by gate: RulesGate) async throws -> RulesUpdate.Loaded {
        guard case .loaded(let loaded) = await gate.update(file, file: "r.json") else { throw TestError() }
        return loaded
    }

    private func send(_ receiver: PushReceiver, _ number: Int) async -> String {
        await receiver.receive(RawPayload("{\"n\":\(number)}")).description
    }

    @Test(
        "a file that fails its checks changes nothing, and is reported with the reasons",
        arguments: [
            (
                #"{"id":"b","thn":{}}"#, "",
                ["1:33: unknown key 'thn'; did you mean 'then'?", "1:23: the key 'then' is missing"]
            ),
            (#"{"id":"b","then":{"handler":"second"}}"#, "", ["1:1: the file has no tests; add a list 'tests'"]),
            (
                #"{"id":"b","then":{"handler":"second"}}"#, "unrouted",
                [#"1:122: test 'T', step 1 (line 1): outcome: expected "unrouted", found "handled""#]
            ),
            (
                #"{"id":"b","then":{"handler":"third"}}"#, "handled",
                ["1:51: unknown handler 'third'; known: first, second"]
            ),
            (#"{"id":"checked","then":{"handler":"second"}}"#, "handled", ["1:23: no rule may be called so"]),
        ])
    func refused(rule: String, outcome: String, reasons: [String]) async throws {
        let (receiver, gate) = try started([
            { rules in
                rules.rules.filter { $0.id == "checked" }.map {
                    RulesError.Problem(file: rules.file, position: $0.position, what: "no rule may be called so")
                }
            }
        ])
        let update = await gate.update(text(rule, tests: outcome.isEmpty ? "" : test(outcome)), file: "r.json")
        guard case .refused(let problems) = update else { throw TestError() }
        #expect(Set(problems.map(\.description)) == Set(reasons.map { "r.json:\($0)" }))
        #expect(receiver.rulesGeneration == 1 && receiver.routes.map(\.id) == ["a"])
        #expect(await send(receiver, 1) == "handled" && log.events == ["first"])
    }

    @Test("a file that passes takes effect at once, and the receiver forgets nothing")
    func loaded() async throws {
        let (receiver, gate) = try started()
        let test = try TestReceiver(receiver)
        for number in 1...22 { await test.send(RawPayload("{\"n\":\(number)}")) }
        receiver.loopGuard?.kill(
            .bucket(KiiURI(owner: .app, resource: .bucket(name: "off", isEncrypted: false))), for: .seconds(500))
        let new = text(#"{"id":"a","then":{"handler":"second"},"pace":"2s"}"#, tests: self.test("handled"))
        let update = try await loaded(new, by: gate)
        #expect(update.generation == 2 && update.needRestart.isEmpty)
        // Neither a seen message, nor the pace, nor the kill is forgotten.
        #expect(await send(receiver, 1) == "duplicate (done)")
        #expect(await send(receiver, 23) == "paced")
        let killed = PayloadFixture.pushToApp(bucket: "off")
        #expect(await test.send(killed).outcome.description == "looped (killSwitch)")
        // What began to wait under the old rules goes to the handler of the new ones.
        let released = await test.advance(by: .seconds(600))
        #expect(released.map(\.outcome.name) == ["handled", "handled"] && released.map(\.trace.generation) == [2, 2])
        #expect(log.events == Array(repeating: "first", count: 20) + ["second", "second"])
    }

    @Test("a message that is being handled ends under the rules that it began with")
    func inFlight() async throws {
        let (receiver, gate) = try started()
        let (entered, leave) = (Gate(), Gate())
        receiver.register("first") { [log] _, _ in
            entered.open()
            await leave.wait()
            log.add("first")
        }
        let rules = try RoutingRules(text(#"{"id":"a","then":{"handler":"first"}}"#))
        try receiver.load(rules)
        let traces = TraceLog()
        receiver.onTrace { traces.add($0) }
        async let old = send(receiver, 1)
        await entered.wait()
        let new = text(#"{"id":"b","then":{"handler":"second"}}"#, tests: test("handled"))
        _ = try await loaded(new, by: gate)
        #expect(await send(receiver, 2) == "handled" && log.events == ["second"])
        leave.open()
        #expect(await old == "handled" && log.events == ["second", "first"])
        #expect(traces.traces.map { "\($0.generation) \($0.routes)" } == [#"3 ["b"]"#, #"2 ["a"]"#])
    }

    @Test("the loop guard follows the file, and what cannot change is named")
    func settings() async throws {
        let (receiver, gate) = try started()
        let settings =
            #""app":"x","serving":["app"],"dedupe":{"count":5},"me":["thing:th.1"],"loop":{"hops":3,"writesAs":["user:U"]},"#
        let new = text(#"{"id":"a","then":{"handler":"first"}}"#, settings: settings, tests: test("handled"))
        let update = try await loaded(new, by: gate)
        #expect(update.needRestart == ["app", "serving", "dedupe"] && receiver.loopGuard?.settings.hops == 3)
        let own = RawPayload(#"{"topic":"t","sender":"th.1"}"#)
        #expect(await receiver.receive(own).description == "looped (identity)")
    }

    @Test("an app that code gave stays, whatever the file says, and a layer that code switched off stays off")
    func given() async throws {
        let rules = try RoutingRules(text(#"{"id":"a","then":{"handler":"first"}}"#))
        let receiver = PushReceiver(rules: rules, app: "mine", clock: clock)
        receiver.register("first") { _, _ in }
        receiver.loopGuard?.settings.layers.remove(.pace)
        let new = text(#"{"id":"a","then":{"handler":"first"}}"#, settings: #""app":"x","loop":{"hops":3},"#)
        let update = try await loaded(new, by: RulesGate(receiver))
        #expect(update.needRestart.isEmpty && receiver.app == "mine")
        #expect(receiver.loopGuard?.settings.hops == 3 && receiver.loopGuard?.settings.layers.contains(.pace) == false)
    }

    @Test(
        "a receiver that was not made of rules keeps its settings, and those that the file states otherwise are named",
        arguments: [
            ("", []), (#""me":["thing:th.1"],"loop":{"hops":3,"writesAs":["user:U"]},"app":"a","#, []),
            (#""me":["thing:th.2"],"#, ["me"]), (#""loop":{"hops":8},"#, ["loop"]),
            (#""loop":{"writesAs":["user:V"]},"#, ["loop.writesAs"]),
            (#""app":"b","me":["thing:th.2"],"loop":{"echo":"1s","writesAs":[]},"#, ["app", "me", "loop"]),
        ])
    func foreign(settings: String, named: [String]) async throws {
        let receiver = PushReceiver(
            app: "a", me: [.thing(id: "th.1")], writesAs: [.user(id: "U")], loop: LoopSettings(hops: 3), clock: clock)
        receiver.register("first") { _, _ in }
        let new = text(#"{"id":"a","then":{"handler":"first"}}"#, settings: settings)
        let update = try await loaded(new, by: RulesGate(receiver))
        #expect(update.needRestart == named && receiver.loopGuard?.settings == LoopSettings(hops: 3))
    }

    @Test("without a loop guard every setting of one that the file states is named")
    func noGuard() async throws {
        let receiver = PushReceiver(clock: clock) { Deduplicator(clock: clock) }
        receiver.register("first") { _, _ in }
        let settings = #""me":["thing:th.1"],"loop":{"hops":8,"writesAs":["user:U"]},"#
        let new = text(#"{"id":"a","then":{"handler":"first"}}"#, settings: settings)
        let update = try await loaded(new, by: RulesGate(receiver))
        #expect(update.needRestart == ["me", "loop", "loop.writesAs"])
    }

    @Test("of two updates the later call wins, whichever is ready first")
    func overtaken() throws {
        let (receiver, gate) = try started()
        let (old, new) = (
            try RoutingRules(text(#"{"id":"old","then":{"handler":"first"}}"#)),
            try RoutingRules(text(#"{"id":"new","then":{"handler":"first"}}"#))
        )
        guard case .loaded = try gate.load(new, 2, digest: ""), case .overtaken = try gate.load(old, 1, digest: "")
        else { throw TestError() }
        #expect(receiver.routes.map(\.id) == ["new"] && receiver.rulesGeneration == 2)
    }

    @Test("a reload keeps the device's values, and a new file that lacks one is refused with its place")
    func parameters() async throws {
        func file(_ params: String, _ topic: String) -> [UInt8] {
            text(
                #"{"id":"a","when":{"topic":"\#(topic)"},"then":{"handler":"first"}}"#,
                settings: "\"params\":{\(params)},")
        }
        let room = #""room":{"type":"string","default":"hall"}"#
        for device in ["bath", "attic"] {
            let rules = try RoutingRules(file(room, "${param.room}"), params: ["room": device])
            let receiver = PushReceiver(rules: rules, clock: clock)
            for name in ["first", "second"] { receiver.register(name) { _, _ in } }
            let gate = RulesGate(receiver, params: ["room": device])
            let new = file(room, "new-${param.room}")
            let update = try await loaded(new, by: gate)
            #expect(update.digest == FileDigest.text(new))
            let lacking = file("\(room),\"floor\":{\"type\":\"number\"}", "${param.room}-${param.floor}")
            guard case .refused(let problems) = await gate.update(lacking, file: "r.json") else { throw TestError() }
            #expect(
                problems.map(\.description) == [
                    "r.json:1:66: the parameter 'floor' has no value; give it one, or a \"default\""
                ])
            for (topic, outcome) in [("new-\(device)", "handled"), ("new-hall", "unrouted"), (device, "unrouted")] {
                let payload = RawPayload(#"{"topic":"\#(topic)","objectScopeType":"APP"}"#)
                #expect(await receiver.receive(payload).name == outcome)
            }
        }
    }
}
