import KiiCloud
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushRules
@testable import KiiPushTestSupport

/// Parameters of a rules file: values that differ between devices.
struct RuleParameterTests {
    static let file = #"""
        {"version": 1,
         "params": {
          "thing": {"type": "string", "doc": "the id of this device"},
          "limit": {"type": "number", "default": 30},
          "loud": {"type": "boolean", "default": true},
          "token": {"type": "string", "secret": true}},
         "me": ["thing:${param.thing}"], "serving": ["thing:${param.thing}", "app"],
         "rules": [
          {"id": "hot",
           "when": {"scope": ["app", "thing:${param.thing}"], "topic": "heat-${param.thing}",
                    "data": {"/room/temp": {"greater": "${param.limit}"}, "loud": "${param.loud}"}},
           "then": {"run": ["/opt/${param.thing}/alarm", "--limit=${param.limit}", "Bearer ${param.token}"]},
           "writes": ["kiicloud://things/${param.thing}/buckets/log"], "continue": true},
          {"id": "state", "when": {"topic": {"equals": "heat-${param.thing}"}},
           "then": {"write": {"object": "kiicloud://things/${param.thing}/buckets/state/objects/heat",
                              "fields": {"limit": "${param.limit}", "text": "${param.limit} of ${param.thing}, ${topic}",
                                         "key": "${param.token}"}}}}],
         "tests": [
          {"name": "a hot room is told", "params": [{"thing": "th.1"}, {"thing": "th.2", "limit": 40.5}], "steps": [
           {"payload": {"topic": "heat-th.1", "objectScopeType": "APP", "loud": "true", "room": {"temp": 31}},
            "expect": {"outcome": "handled", "rules": ["hot", "state"]}}]}]}
        """#

    private static func rules(_ params: ParameterValues) throws -> RoutingRules {
        try RoutingRules(file, file: "r.json", params: params)
    }

    @Test("one file serves two devices, each with its own values")
    func twoDevices() throws {
        for (thing, limit) in [("th.1", "30"), ("th.2", "12.5")] {
            let rules = try Self.rules(["thing": thing, "limit": limit, "token": "s3cret-value"])
            #expect(rules.me == [.thing(id: thing)] && rules.writesAs.isEmpty)
            #expect(rules.rules[0].writes.map(\.uri.description) == ["kiicloud://things/\(thing)/buckets/log"])
            #expect(rules.rules[0].criteria.topic == .exactly("heat-\(thing)"))
            #expect(rules.rules[0].criteria.data[0].predicate == DataPredicate(.greater(limit)))
            #expect(rules.rules[0].criteria.data[1].predicate == .equals(true))
            #expect(
                rules.rules[0].action == .run(["/opt/\(thing)/alarm", "--limit=\(limit)", "Bearer ${param.token}"]))
            guard case .write(let write) = rules.rules[1].action else { throw TestError() }
            #expect(write.object.uri.description == "kiicloud://things/\(thing)/buckets/state/objects/heat")
            #expect(write.fields.source["limit"] == .number(limit))
            #expect(write.fields.source["text"] == .string("\(limit) of \(thing), ${topic}"))
            #expect(write.fields.source["key"] == .string("${param.token}"))
        }
    }

    @Test(
        "a missing or mistyped value is refused with its place",
        arguments: [
            ([:], ["r.json:3:3: the parameter 'thing' has no value; give it one, or a \"default\""]),
            (
                ["thng": "th.1"],
                [
                    "r.json:3:3: the parameter 'thing' has no value; give it one, or a \"default\"; the value of 'thng' is given"
                ]
            ),
            (
                ["thing": "th.1", "limit": "hot"],
                ["params:1:1: expected a number for the parameter 'limit' (r.json:4:3), found another value"]
            ),
            (
                ["thing": "th.1", "loud": "yes"],
                ["params:1:1: expected true or false for the parameter 'loud' (r.json:5:3), found another value"]
            ),
        ] as [(ParameterValues, [String])])
    func refused(params: ParameterValues, problems: [String]) {
        let error = #expect(throws: RulesError.self) { try Self.rules(params) }
        #expect(error?.problems.map(\.description) == problems)
    }

    @Test("reports at most a hundred problems of a file and its values together")
    func manyProblems() throws {
        let params = (0..<100).map { #""p\#($0)":{"type":"number"}"# }.joined(separator: ",")
        let keys = (0..<99).map { #""wrong\#($0)":0"# }.joined(separator: ",")
        let values = (0..<100).map { #""p\#($0)":"x""# }.joined(separator: ",")
        let given = try ParameterValues(Array("{\(values)}".utf8), file: "v.json")
        let error = #expect(throws: RulesError.self) {
            try RoutingRules(#"{"version":1,\#(keys),"params":{\#(params)},"rules":[]}"#, params: given)
        }
        #expect(error?.problems.count == 100 && error?.omitted == 99)
    }

    @Test("a file of values is read with places, and a wrong type in it is reported there")
    func valuesFile() throws {
        let values = try ParameterValues(Array(#"{"thing": "th.7", "limit": 7, "loud": false}"#.utf8), file: "v.json")
        let rules = try Self.rules(values)
        #expect(rules.values[ExactText("limit")] == .number("7") && rules.values[ExactText("loud")] == .bool(false))
        #expect(values.description == #"["limit", "loud", "thing"]"#)
        let wrong = try ParameterValues(Array("{\"thing\": \"th.7\",\n \"limit\": \"7\"}".utf8), file: "v.json")
        let error = #expect(throws: RulesError.self) { try Self.rules(wrong) }
        #expect(
            error?.description
                == "v.json:2:11: expected a number for the parameter 'limit' (r.json:4:3), found a string")
        for (text, problem) in [
            ("[1]", "v.json:1:1: expected an object with the values of parameters, found a list"),
            (#"{"a": null}"#, "v.json:1:7: expected a string, a number, true or false, found null"),
            (#"{"a": 1, "a": 2}"#, "v.json:1:10: the key 'a' is a duplicate in this object"),
        ] {
            let error = #expect(throws: RulesError.self) { try ParameterValues(Array(text.utf8), file: "v.json") }
            #expect(error?.description == problem)
        }
    }

    /// A file's members with the parameter `a`.
    private static func declaring(_ members: String, _ rest: String = #""rules":[]"#) -> String {
        #""params":{"a":{\#(members)}},\#(rest)"#
    }

    private static func usingSecret(_ rest: String) -> String { declaring(#""type":"string","secret":true"#, rest) }

    private static let tooLong = "1:55: expected at most 4096 bytes without a zero byte as the default"

    @Test(
        "a wrong declaration or placeholder is refused at its place",
        arguments: [
            (#""params":{"a b":{"type":"string"}},"rules":[]"#, "1:24: expected the name of a parameter"),
            (declaring(""), "1:28: the key 'type' is missing"),
            (declaring(#""type":"strin""#), "1:36: unknown type 'strin'; did you mean 'string'?"),
            (declaring(#""type":"number","default":"1""#), "1:55: expected a number, found a string"),
            (declaring(#""type":"string","default":"\u0000""#), tooLong),
            (declaring(#""type":"string","default":"\#(String(repeating: "x", count: 4_097))""#), tooLong),
            (declaring(#""type":"string","secret":true,"default":"x""#), "1:69: a secret parameter has no default"),
            (#""app":"${param.a}","rules":[]"#, "1:20: unknown parameter 'a'; there is none; declare it in 'params'"),
            (
                #""params":{"ab":{"type":"string","default":"x"}},"app":"${param.abc}","rules":[]"#,
                "1:68: unknown parameter 'abc'; did you mean 'ab'?"
            ),
            (
                usingSecret(#""me":["thing:${param.a}"],"rules":[]"#),
                "1:67: the parameter 'a' is secret, and this text is shown"
            ),
            (
                usingSecret(
                    #""rules":[{"id":"r","then":{"write":{"object":"kiicloud://buckets/b/objects/${param.a}","fields":{"x":1}}}}]"#
                ),
                "1:106: the parameter 'a' is secret"
            ),
            (
                usingSecret(#""rules":[{"id":"r","when":{"data":{"x":"${param.a}"}},"then":{"print":true}}]"#),
                "1:100: the parameter 'a' is secret"
            ),
        ])
    func declarations(part: String, problem: String) {
        let problems = RulesSamples.problems("{\"version\":1,\(part)}")
        #expect(problems.count == 1 && problems[0].hasPrefix(problem), "\(problems)")
    }

    @Test("a value cannot change what a URI names, and is no placeholder itself")
    func values() throws {
        func write(_ thing: String) throws -> RuleWrite {
            guard case .write(let write) = try Self.rules(["thing": thing]).rules[1].action else { throw TestError() }
            return write
        }
        let slashed = try write("a/buckets/b/objects/c")
        #expect(slashed.object.parts.first?.parts.count == 1 && slashed.object.fields.isEmpty)
        guard case .object(let bucket, _, let id) = slashed.object.uri.resource else { throw TestError() }
        #expect(bucket == "state" && id == "heat")
        let filling = try write("${data.x}")
        #expect(filling.object.fields.isEmpty && filling.fields.fields.map(\.name) == ["topic"])
    }

    @Test("a secret reaches the action alone: no description, explanation, finding, test or error has it")
    func secret() async throws {
        let secret = "s3cret-value"
        let rules = try Self.rules(["thing": "th.1", "token": secret])
        let actions = Recorder()
        let receiver = PushReceiver(rules: rules)
        try receiver.load(rules, actions: actions)
        let payload = RawPayload(#"{"topic":"heat-th.1","objectScopeType":"APP","loud":"true","room":{"temp":31}}"#)
        #expect(await receiver.receive(payload).name == "handled")
        #expect(actions.arguments.last == ["/opt/th.1/alarm", "--limit=30", "Bearer \(secret)"])
        #expect(actions.written["key"] == .string(secret))

        let message = try PushMessage(payload)
        var shown =
            "\(rules) \(receiver.routes) \(rules.rules.map { $0.explain(message) }) \(rules.lint()) \(rules.given)"
        dump(rules, to: &shown)
        let failing = try RoutingRules(
            Self.file.replacing(#""outcome": "handled""#, with: #""outcome": "failed", "cloud": []"#),
            params: ["thing": "th.1", "token": secret])
        let result = await (try RuleTestRunner(failing)).run(failing.tests[0])
        shown += "\(result) \(result.failures.map(\.explanation))"
        #expect(!result.passed && !shown.contains(secret) && shown.contains("${param.token}"))
    }

    @Test("rules with a secret that has no value are tested, but not loaded with actions")
    func missingSecret() async throws {
        let rules = try Self.rules(["thing": "th.1"])
        #expect(await (try RuleTestRunner(rules)).run(rules.tests[0]).failures.map(\.row) == [2, 2])
        let error = #expect(throws: RulesError.self) {
            try PushReceiver(rules: rules).load(rules, actions: Recorder())
        }
        #expect(error?.description == "r.json:6:3: the secret parameter 'token' has no value; give it one")
    }

    @Test("a test runs with each row of its values, then defaults, whatever the device has")
    func rows() async throws {
        for limit in ["1", "30", "99"] {
            let rules = try Self.rules(["thing": "th.9", "limit": limit])
            let result = await (try RuleTestRunner(rules)).run(rules.tests[0])
            #expect(
                result.failures.map(\.reason) == [
                    #"test 'a hot room is told', row 2, step 1 (line 20): outcome: expected "handled", found "unrouted" (noRoute)"#,
                    #"test 'a hot room is told', row 2, step 1 (line 20): rules: expected ["hot","state"], found []"#,
                ])
            #expect(result.cloud.map(\.row) == [1])
        }
    }

    @Test(
        "a wrong row is refused at its place",
        arguments: [
            (#"[]"#, "expected a row of values, found an empty list"), (#"{}"#, "expected a list of objects"),
            (#"[{"lim": 1}]"#, "unknown parameter 'lim'"), (#"[{"limit": [1]}]"#, "expected a string, a number"),
            (#"[{"limit": "1"}]"#, "expected a number for the parameter 'limit' (r.json:4:3), found a string (with"),
            (#"[{"token": "t"}]"#, "a test knows no secret: 'token' stays its placeholder"),
            (#"[{"thing": ""}]"#, "expected an identity"),
        ])
    func wrongRows(rows: String, problem: String) throws {
        let text = Self.file.replacing(#"[{"thing": "th.1"}, {"thing": "th.2", "limit": 40.5}]"#, with: rows)
        let error = #expect(throws: RulesError.self) {
            try RoutingRules(text, file: "r.json", params: ["thing": "th.1"])
        }
        let what = problem == "expected an identity" ? "\"user:ID\"" : problem
        #expect(error?.problems.contains { $0.what.contains(what) } == true, "\(error?.description ?? "")")
    }

    @Test("coverage counts over all rows")
    func coverage() async throws {
        let file = #"""
            {"version":1,"params":{"kind":{"type":"string","default":"*"}},
             "rules":[{"id":"a","when":{"kind":"${param.kind}","topic":"t"},"then":{"handler":"h"}}],
             "tests":[{"name":"t","params":[{},{"kind":"pushToUser"},{"kind":"pushToApp"}],"steps":[
              {"payload":{"topic":"t","objectScopeType":"APP"},"expect":{}},
              {"payload":{"topic":"u","objectScopeType":"APP"},"expect":{}}]}]}
            """#
        let rules = try RoutingRules(file, params: ["kind": "pushToUser"])
        let coverage = try await rules.coverage()
        #expect(coverage.uncovered.map(\.description) == [])
        #expect(coverage.outcomes.first { $0.name == "handled" }?.messages == 2)
    }

    @Test("lint names parameters that nothing uses, and values that no parameter takes")
    func unused() throws {
        let rules = try RoutingRules(
            #"{"version":1,"params":{"a":{"type":"string","default":""},"b":{"type":"string","default":"x"}},"app":"${param.b}","rules":[]}"#,
            params: ["c": "1"])
        #expect(
            rules.lint().map { "\($0.file):\($0.position) \($0.code)" } == [
                "params:1:1 unusedValue", "rules.json:1:24 unusedParameter",
            ])
        #expect(rules.app == "x")
    }

    @Test("the number and size of parameters are bounded")
    func bounds() throws {
        let many = (0...100).map { "\"p\($0)\":{\"type\":\"string\",\"default\":\"\"}" }.joined(separator: ",")
        #expect(
            RulesSamples.problems(#"{"version":1,"params":{\#(many)},"rules":[]}"#)
                == ["1:23: expected at most 100 parameters, found 101"])
        let long = String(repeating: "x", count: 4097)
        #expect(
            throws: RulesError.self,
            performing: {
                try RoutingRules(#"{"version":1,"params":{"a":{"type":"string"}},"rules":[]}"#, params: ["a": long])
            })
        let filled = Array(repeating: "\"${param.a}\"", count: 5000).joined(separator: ",")
        let text =
            #"{"version":1,"params":{"a":{"type":"string"}},"rules":[{"id":"r","when":{"data":{"k":{"anyOf":[\#(filled)]}}}}]}"#
        let error = #expect(throws: RulesError.self) {
            try RoutingRules(text, params: ["a": String(long.dropFirst())])
        }
        #expect(error?.description.contains("have more than 16777216 bytes") == true)
        let rows = (0..<101).map { "{\"a\":\"\($0)\"}" }.joined(separator: ",")
        let table = RulesSamples.problems(
            #"{"version":1,"params":{"a":{"type":"string","default":""}},"rules":[],"tests":[{"name":"t","params":[\#(rows)],"steps":[]}]}"#
        )
        #expect(table.count == 1 && table[0].hasSuffix("all tests have more than 100 different rows of values"))
    }

    @Test(
        "the digest of a file is its SHA-256",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (String(repeating: "a", count: 1000), "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"),
        ])
    func digest(text: String, expected: String) { #expect(FileDigest.text(Array(text.utf8)) == expected) }
}

/// What rules run and write, recorded.
private final class Recorder: RuleActions, RuleCloud {
    private let state = Mutex<(arguments: [[String]], written: KeyedData)>(([], [:]))

    var arguments: [[String]] { state.withLock { $0.arguments } }
    var written: KeyedData { state.withLock { $0.written } }
    var cloud: (any RuleCloud)? { self }

    func run(_ arguments: [String], for message: PushMessage, _ context: HandlerContext) async throws {
        state.withLock { $0.arguments.append(arguments) }
    }

    func print(_ message: PushMessage, _ context: HandlerContext) async throws {}

    func perform(_ action: CloudAction, _ context: HandlerContext) async throws {
        if case .write(_, let fields, _) = action { state.withLock { $0.written = fields } }
    }
}
