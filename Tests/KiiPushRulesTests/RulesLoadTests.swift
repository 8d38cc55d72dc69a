import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushRules
@testable import KiiPushTestSupport

/// Rules in a receiver.
struct RulesLoadTests {
    private let log = EventLog()

    private func receiver() -> PushReceiver {
        let receiver = PushReceiver { ScopeFilter() }
        for name in ["first", "second"] {
            receiver.register(name) { [log] message, context in log.add("\(name) for \(context.route)") }
        }
        return receiver
    }

    private func rules(_ rules: String...) throws -> RoutingRules {
        try RoutingRules("{\"version\":1,\"rules\":[\n\(rules.joined(separator: ",\n"))]}", file: "r.json")
    }

    private func push(_ data: String = "\"n\":1") -> RawPayload { RawPayload("{\(data)}") }

    @Test("a rule calls the handler that it names, and the outcome names the rule")
    func handler() async throws {
        let receiver = receiver()
        try receiver.load(rules(#"{"id":"a","when":{"data":{"n":1}},"then":{"handler":"first"}}"#))
        let outcome = await receiver.receive(push())
        guard case .handled(let routes) = outcome else { throw TestError() }
        #expect(routes.ids == ["a"] && log.events == ["first for a"])
        #expect(await receiver.receive(push("\"n\":2")).name == "unrouted")
    }

    @Test("rules stand among the code's routes where they were first loaded, also when they are loaded again")
    func place() throws {
        let receiver = receiver()
        receiver.onAny(id: "before", options: .continue) { _, _ in }
        try receiver.load(rules(#"{"id":"a","then":{"handler":"first"}}"#))
        receiver.onAny(id: "after") { _, _ in }
        #expect(receiver.routes.map(\.id) == ["before", "a", "after"])
        try receiver.load(rules(#"{"id":"b","then":{"handler":"first"}}"#, #"{"id":"c","then":{"handler":"first"}}"#))
        #expect(receiver.routes.map(\.id) == ["before", "b", "c", "after"])
        try receiver.load(rules())
        #expect(receiver.routes.map(\.id) == ["before", "after"])
        try receiver.load(rules(#"{"id":"d","then":{"handler":"first"}}"#))
        #expect(receiver.routes.map(\.id) == ["before", "d", "after"])
    }

    @Test("a load that fails changes nothing, and names the rule and a suggestion")
    func failure() async throws {
        let receiver = receiver()
        receiver.onPushToUser(id: "code") { _, _ in }
        try receiver.load(rules(#"{"id":"a","then":{"handler":"first"}}"#))
        let broken = try rules(
            #"{"id":"b","then":{"handler":"frist"}}"#, #"{"id":"code","then":{"handler":"first"}}"#,
            #"{"id":"c","then":{"run":["ls"]}}"#, #"{"id":"d","then":{"print":true}}"#)
        let error = #expect(throws: RulesError.self) { try receiver.load(broken) }
        #expect(
            error?.description == """
                r.json:2:29: unknown handler 'frist'; did you mean 'first'?
                r.json:3:1: the code also declares a route 'code'; rename one
                r.json:4:25: this program cannot run programs; load the rules with actions that do
                r.json:5:27: this program cannot print messages; load the rules with actions that do
                """)
        #expect(receiver.rulesGeneration == 1 && receiver.routes.map(\.id) == ["code", "a"])
        #expect(await receiver.receive(push()).name == "handled")
    }

    @Test("a rule with a handler, loaded where no handler is registered, says what to do")
    func nothingRegistered() throws {
        let receiver = PushReceiver()
        let error = #expect(throws: RulesError.self) {
            try receiver.load(rules(#"{"id":"a","then":{"handler":"reload"}}"#))
        }
        #expect(
            error?.description == """
                r.json:2:29: no handler 'reload' is registered, nor any other: register it in the program, or let the rule \
                run, print, write or send
                """)
    }

    @Test("the generation counts the loads, and a trace says under which one its routes were found")
    func generation() async throws {
        let receiver = receiver()
        let traces = TraceLog()
        receiver.onTrace { traces.add($0) }
        _ = await receiver.receive(push())
        #expect(try receiver.load(rules(#"{"id":"a","then":{"handler":"first"}}"#)) == 1)
        _ = await receiver.receive(push("\"n\":2"))
        #expect(try receiver.load(rules(#"{"id":"a","then":{"handler":"second"}}"#)) == 2)
        receiver.onDirectPush(id: "code") { _, _ in }
        _ = await receiver.receive(push("\"n\":3"))
        #expect(traces.traces.map(\.generation) == [0, 1, 2] && receiver.rulesGeneration == 2)
        #expect(log.events == ["first for a", "second for a"])
    }

    @Test("a rule that is loaded again goes on with its counts")
    func counts() async throws {
        let receiver = receiver()
        for _ in 0..<2 {
            try receiver.load(
                rules(#"{"id":"a","then":{"handler":"first"}}"#, #"{"id":"b","then":{"handler":"first"}}"#))
            _ = await receiver.receive(push())
        }
        #expect(receiver.metrics.routes.map(\.handled) == [2, 0])
    }

    private struct Actions: RuleActions {
        let log: EventLog

        func run(_ arguments: [String], for message: PushMessage, _ context: HandlerContext) async throws {
            log.add("run \(arguments) for \(context.route)")
            if arguments == ["false"] { throw TestError() }
        }

        func print(_ message: PushMessage, _ context: HandlerContext) async throws {
            log.add("print for \(context.route)")
        }
    }

    @Test("the given actions run programs and print messages")
    func actions() async throws {
        let receiver = receiver()
        try receiver.load(
            rules(
                #"{"id":"r","then":{"run":["true","a b"]},"continue":true}"#,
                #"{"id":"p","then":{"print":true},"continue":true}"#, #"{"id":"f","then":{"run":["false"]}}"#),
            actions: Actions(log: log))
        let outcome = await receiver.receive(push())
        #expect(log.events == [#"run ["true", "a b"] for r"#, "print for p", #"run ["false"] for f"#])
        #expect(outcome.description == "failed (f)")
    }

    @Test("concurrent loads leave exactly one of the files")
    func concurrentLoads() async throws {
        let receiver = receiver()
        let files = try (0..<8).map { file in
            try RoutingRules(
                #"{"version":1,"rules":[{"id":"\#(file)-a","then":{"handler":"first"}},"#
                    + #"{"id":"\#(file)-b","then":{"handler":"first"}}]}"#)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for file in files { group.addTask { try receiver.load(file) } }
            try await group.waitForAll()
        }
        let ids = receiver.routes.map(\.id)
        #expect(ids.count == 2 && ids[0].first == ids[1].first && receiver.rulesGeneration == 8)
    }
}
