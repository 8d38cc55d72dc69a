import Testing

@testable import KiiPush
@testable import KiiPushRules
@testable import KiiPushTestSupport

/// What is said of broken rules files, and where.
struct RulesErrorTests {
    // What is said again and again.
    private static let duration =
        "expected a duration such as \"10s\": a number and ms, s, m, h or d, at most 36500d, found"
    private static let oneAction = "expected exactly one of payload, raw, gap, write, kill, revive in a step, found"
    private static let identity = "expected an identity: \"user:ID\", \"thing:ID\" or \"admin:NAME\""
    private static let sender = "expected a sender: \"user:ID\", \"thing:ID\" or \"admin:NAME\""
    private static let objectURI = "expected the kiicloud:// URI of an object, found"
    private static let targetURI = "expected the kiicloud:// URI of a bucket, an object or a topic, found"
    private static let field = "expected a root key of the data, such as \"data.messageId\""
    private static let count = "expected a whole number from 0 to 1000000000, found"
    /// What is said of the numbers of earlier versions.
    private static let rate =
        "'rate' is no longer a setting of the loop guard; a rule has a \"pace\": \"standard\", \"unlimited\", or a "
        + "duration such as \"6s\" for one message in that time"

    /// The rows of a table of `what is wrong => where, and what is said of it`.
    private static func rows(_ table: String) -> [(String, String)] {
        table.split(separator: "\n").map { row in
            let parts = row.split(separator: " => ").map { String($0) }
            return (parts[0], parts[1])
        }
    }

    @Test(
        "refuses text that is not a JSON object",
        arguments: [
            ("", "1:1: the file is empty; expected an object"), (" \n ", "1:1: the file is empty; expected an object"),
            ("{\"version\": 1,\n  }", "2:3: expected a key in double quotes"),
            ("{\"version\": 1\n \"rules\": []}", "2:2: expected a comma or a closing bracket"),
            ("{\"version\": 1,\n // The rules\n}", "2:2: expected a key in double quotes; JSON has no comments"),
            (
                "{\"version\": 1,\n\"rules\": [",
                "2:11: the text ends where a value or a closing bracket is expected; it may have been cut"
            ),
            ("[]", "1:1: expected an object with the rules, found a list"),
            ("\"a\"", "1:1: expected an object with the rules, found a string"),
            ("{\"version\":1,\"rules\":[]}\n\nx", "3:1: expected the end"),
            ("\u{FEFF}{}", "1:1: the file begins with a byte order mark; save it as UTF-8 without one"),
            ("{\"a\":\"\u{E9}\u{E9}\" x}", "1:13: expected a comma or a closing bracket"),
        ])
    func syntax(text: String, expected: String) { #expect(RulesSamples.problems(text) == [expected]) }

    @Test("calls a file in UTF-16 so", arguments: [[0xFF, 0xFE, 0x7B, 0], [0xFE, 0xFF, 0, 0x7B]] as [[UInt8]])
    func utf16(bytes: [UInt8]) {
        let error = #expect(throws: RulesError.self) { try RoutingRules(bytes, file: "r.json") }
        #expect(error?.description == "r.json:1:1: the file is UTF-16; save it as UTF-8")
    }

    @Test(
        "reports each mistake in the settings with its position",
        arguments: rows(
            #"""
            {} => 1:1: the key 'version' is missing
            {"version":2,"wrong":1} => 1:12: unknown version 2; this library reads version 1
            {"version":"1"} => 1:12: expected the version of the format, 1, found a string
            {"version":1} => 1:1: the key 'rules' is missing
            {"version":1,"rules":{}} => 1:22: expected a list of rules, found an object
            {"version":1,"rulse":[],"rules":[]} => 1:14: unknown key 'rulse'; did you mean 'rules'?
            {"version":1,"rules":[],"rules":[]} => 1:25: the key 'rules' is a duplicate in this object
            {"version":1,"rules":[],"r\u0075les":[]} => 1:25: the key 'rules' is a duplicate in this object
            {"version":1,"rules":[],"$schema":7} => 1:35: expected where the schema is, for an editor, found a number
            {"version":1,"rules":[],"app":7} => 1:31: expected the id of an app, found a number
            {"version":1,"rules":[],"app":""} => 1:31: expected the id of an app, found an empty string
            """#))
    func root(text: String, expected: String) { #expect(RulesSamples.problems(text) == [expected]) }

    @Test(
        "reports each mistake in a setting's value with its position",
        arguments: rows(
            #"""
            "me":"user:U1" => 2:6: expected a list of identities such as "thing:th.1", found a string
            "me":["U1"] => 2:7: \#(identity), found 'U1'
            "me":["usr:U1"] => 2:7: unknown type 'usr'; did you mean 'user'?; \#(identity)
            "me":["user:*"] => 2:7: expected a single identity, found a pattern with '*'
            "me":["thing:"] => 2:7: \#(identity), found 'thing:' without an id
            "serving":["app",7] => 2:18: expected a scope such as "app" or "user:ID", found a number
            "serving":["admin:x"] => 2:12: unknown type 'admin'; known: user, group, thing; expected "app", \#
            "user:ID", "group:ID" or "thing:ID"
            "serving":[] => 2:11: an empty list serves nothing; leave it out to serve every scope
            "dedupe":{"windw":"1s"} => 2:11: unknown key 'windw'; did you mean 'window'?
            "dedupe":{"window":"10"} => 2:20: \#(duration) '10'
            "dedupe":{"count":1000000001} => 2:19: \#(count) 1000000001
            "dedupe":{"count":1.5} => 2:19: \#(count) 1.5
            "dedupe":{"count":"5"} => 2:19: \#(count) a string
            "dedupe":null => 2:10: expected an object with window, count and weak, found null
            "loop":{"rate":{"messages":0}} => 2:16: \#(rate)
            "loop":{"ownBucket":"warn"} => 2:9: unknown key 'ownBucket'; known: hops, echo, writesAs, rate
            "loop":{"writesAs":["x"]} => 2:21: \#(identity), found 'x'
            "delivery":{"attempts":0} => 2:24: expected a whole number from 1 to 1000, found 0
            "delivery":{"order":"objct"} => 2:21: unknown order 'objct'; did you mean 'object'?
            "delivery":{"onFailure":"stop"} => 2:25: unknown answer 'stop'; did you mean 'skip'?
            "delivery":{"backoff":"2s","maxBackoff":"1s"} => 2:41: expected at least the backoff, 2s
            "delivery":{"timeout":"0ms"} => 2:23: expected a duration longer than 0
            "delivery":{"maxAge":true} => 2:22: \#(duration) true
            "delivery":{"maxAge":"0s"} => 2:22: expected a duration longer than 0
            """#))
    func settings(setting: String, expected: String) {
        #expect(RulesSamples.problems("{\n\(setting),\n\"version\":1,\"rules\":[]}") == [expected])
    }

    @Test(
        "reports each mistake in a rule with its position",
        arguments: rows(
            #"""
            7 => 2:1: expected a rule: an object with id, when and then, found a number
            {"then":{"print":true}} => 2:1: the key 'id' is missing
            {"id":"a"} => 2:1: the key 'then' is missing
            {"id":"","then":{"print":true}} => 2:7: expected the rule's id, found an empty string
            {"id":"a\n","then":{"print":true}} => 2:7: expected the rule's id without control characters
            {"id":"*","then":{"print":true}} => 2:7: expected the rule's id, found what the kill switch treats as \#
            everything
            {"id":"kiicloud://x/buckets/b","then":{"print":true}} => 2:7: expected the rule's id, found what the \#
            kill switch treats as a URI
            {"id":"a*b","then":{"print":true}} => 2:7: expected the rule's id without '*' and '://', which the kill \#
            switch does not take
            {"id":"a","then":{"print":true}},{"id":"a","then":{"print":true}} => 2:40: a second rule 'a'; the first \#
            is at 2:7
            """#))
    func rules(rule: String, expected: String) {
        #expect(RulesSamples.problems("{\"version\":1,\"rules\":[\n\(rule)\n]}") == [expected])
    }

    @Test(
        "reports each mistake in what a rule does with its position",
        arguments: rows(
            #"""
            {} => 3:1: expected exactly one of handler, run, print, write and send, found 0
            {"print":true,"handler":"h"} => 3:1: expected exactly one of handler, run, print, write and send, found 2
            {"handlr":"h"} => 3:2: unknown key 'handlr'; did you mean 'handler'?
            {"print":false} => 3:10: expected true: a rule that prints nothing needs another action
            {"run":"ls"} => 3:8: expected a list with a program and its arguments, found a string
            {"run":[]} => 3:8: expected a program and its arguments, found an empty list
            {"run":["ls","\u0000"]} => 3:14: an argument cannot contain a zero byte
            {"run":["ls",1]} => 3:14: expected an argument, a string, found a number
            "h" => 3:1: expected an object with handler, run, print, write or send, found a string
            """#))
    func actions(then: String, expected: String) {
        rules(rule: "{\"id\":\"a\",\"then\":\n\(then)}", expected: expected)
    }

    @Test(
        "reports each mistake in what else a rule says with its position",
        arguments: rows(
            #"""
            "continue":"yes" => 3:12: expected true or false, found a string
            "writes":["users/U1"] => 3:11: \#(targetURI) 'users/U1'
            "writes":["kiicloud://users/U1"] => 3:11: \#(targetURI) 'kiicloud://users/U1'
            "loop":{"ownBucket":"warm"} => 3:21: unknown answer to a write to the own bucket 'warm'; did you mean \#
            'warn'?
            "loop":{"rate":false} => 3:16: \#(rate)
            "pace":false => 3:8: expected a pace: "standard", "unlimited", or a duration such as "6s", found false
            "pace":"0s" => 3:8: expected a duration longer than 0
            "pace":"fast" => 3:8: expected a pace: "standard", "unlimited", or a duration such as "6s", found 'fast'
            "on":"message" => 3:6: unknown kind of rule 'message'; known: gap
            "delivery":{"atempts":1} => 3:13: unknown key 'atempts'; did you mean 'attempts'?
            "dedupe":7 => 3:10: expected an object with by, found a number
            "dedupe":{} => 3:10: the key 'by' is missing
            "dedupe":{"by":7} => 3:16: \#(field), found a number
            "dedupe":{"by":"messageId"} => 3:16: \#(field), found 'messageId'
            "dedupe":{"by":"data."} => 3:16: \#(field), found 'data.'
            "dedupe":{"by":"data./order/id"} => 3:16: \#(field), found 'data./order/id'
            "dedupe":{"by":"data.\t"} => 3:16: \#(field) without control characters
            "dedupe":{"by":"data.a","window":"1s"} => 3:25: unknown key 'window'; known: by
            """#))
    func rest(rest: String, expected: String) {
        rules(rule: "{\"id\":\"a\",\"then\":{\"print\":true},\n\(rest)}", expected: expected)
    }

    @Test(
        "reports each mistake in a condition with its position",
        arguments: rows(
            #"""
            [] => 2:1: expected an object with conditions, found a list
            {"buckt":"a"} => 2:2: unknown key 'buckt'; did you mean 'bucket'?
            {"bucket":7} => 2:11: expected the name of a bucket, or a list of them, found a number
            {"bucket":""} => 2:11: expected the name of a bucket, found an empty string, which matches nothing; "*" \#
            matches any
            {"bucket":[]} => 2:11: an empty list matches nothing; leave the key out to match anything
            {"bucket":["a",null]} => 2:16: expected the name of a bucket, found null
            {"bucket":{"equal":"a"}} => 2:12: unknown key 'equal'; did you mean 'equals'?
            {"bucket":{}} => 2:11: the key 'equals' is missing
            {"kind":"pushToAp"} => 2:9: unknown kind 'pushToAp'; did you mean 'pushToApp'?
            {"scope":"APP_AND_USERS"} => 2:10: unknown scope 'APP_AND_USERS'; did you mean 'APP_AND_USER'?
            {"scope":"dog"} => 2:10: unknown scope 'dog'; known: APP, APP_AND_USER, APP_AND_GROUP, APP_AND_THING
            {"scope":"user:"} => 2:10: expected "app", "user:ID", "group:ID" or "thing:ID", found 'user:' without an \#
            id
            {"sender":"U1"} => 2:11: \#(sender), found 'U1'
            {"sender":["thing:*","grop:g"]} => 2:22: unknown type 'grop'; known: user, thing, admin; \#(sender)
            {"certainty":["certain","liekly"]} => 2:25: unknown certainty 'liekly'; did you mean 'likely'?
            {"events":true} => 2:11: expected the name of an event, or a list of them, found true
            {"transport":{"equals":1}} => 2:24: expected the name of a transport, found a number
            {"data":[]} => 2:9: expected an object with keys of the data, found a list
            {"data":{"a":{}}} => 2:14: expected an operator: equals, anyOf, prefix, suffix, greater, less, exists, not
            {"data":{"a":{"gretaer":1}}} => 2:15: unknown operator 'gretaer'; did you mean 'greater'?
            {"data":{"a":{"greater":"x"}}} => 2:25: expected a number, found 'x'
            {"data":{"a":{"less":true}}} => 2:22: expected a number, found true
            {"data":{"a":{"exists":1}}} => 2:24: expected true or false, found a number
            {"data":{"a":{"equals":[1]}}} => 2:24: expected a string, a number, true, false or null, found a list
            {"data":{"a":{"anyOf":"x"}}} => 2:23: expected a list of values, found a string
            {"data":{"a":{"anyOf":[]}}} => 2:23: an empty list matches nothing
            {"data":{"a":[]}} => 2:14: an empty list matches nothing; "*" matches any value
            {"data":{"a":{"prefix":1}}} => 2:24: expected a string, found a number
            {"data":{"a":1,"a":2}} => 2:16: the key 'a' is a duplicate in this object
            {"any":[]} => 2:8: expected a condition, found an empty list
            {"any":{"topic":"t"}} => 2:8: expected a list of objects with conditions, found an object
            {"all":[{}]} => 2:9: expected a condition, found none
            {"not":{"topc":"t"}} => 2:9: unknown key 'topc'; did you mean 'topic'?
            {"not":{"certainty":"*"}} => 2:9: 'certainty' concerns the whole rule; write it directly in 'when'
            {"data.temp":1} => 2:2: unknown key 'data.temp'; known: kind, bucket, object, topic, scope, scopeID, \#
            events, sender, format, type, command, transport, mqtt, certainty, data, any and 2 more; write the key of \#
            the data inside "data": {…}
            {"data":{"a":{"not":{"not":{"exits":true}}}}} => 2:29: unknown operator 'exits'; did you mean 'exists'?
            """#))
    func conditions(when: String, expected: String) {
        let text = "{\"version\":1,\"rules\":[{\"id\":\"a\",\"then\":{\"print\":true},\"when\":\n\(when)\n}]}"
        #expect(RulesSamples.problems(text) == [expected])
    }

    @Test(
        "reports each mistake in a test with its position",
        arguments: rows(
            #"""
            {"steps":[]} => 2:1: the key 'name' is missing
            {"name":"n"} => 2:1: the key 'steps' is missing
            {"name":"n","steps":{}} => 2:21: expected a list of steps, found an object
            {"name":"n","now":-1,"steps":[]} => 2:19: expected a whole number from 0 to 253402300799999, found -1
            {"name":"n","steps":[],"only":true} => 2:24: unknown key 'only'; known: name, now, params, steps
            """#))
    func tests(test: String, expected: String) {
        let rule = #"{"id":"ab","then":{"handler":"reload"}}"#
        #expect(RulesSamples.problems("{\"version\":1,\"rules\":[\(rule)],\"tests\":[\n\(test)\n]}") == [expected])
    }

    @Test(
        "reports each mistake in a test's step with its position",
        arguments: rows(
            #"""
            {"at":"0s"} => 3:1: \#(oneAction) 0
            {"payload":{},"raw":""} => 3:1: \#(oneAction) 2
            {"at":"2s","kill":"*"},{"at":"1s","kill":"*"} => 3:30: expected 2s or later, the time of the step before
            {"at":5,"kill":"*"} => 3:7: \#(duration) a number
            {"raw":{}} => 3:8: expected the payload's bytes as a string, found an object
            {"kill":"b"} => 3:9: unknown rule 'b'; did you mean 'ab'?
            {"kill":"kiicloud://users/U1"} => 3:9: expected a rule's id, a bucket's kiicloud:// URI, or "*", found \#
            'kiicloud://users/U1'
            {"write":"kiicloud://users/U1/topics/t"} => 3:10: \#(objectURI) 'kiicloud://users/U1/topics/t'
            {"write":"kiicloud://users/U1/buckets/b"} => 3:10: \#(objectURI) 'kiicloud://users/U1/buckets/b'
            {"write":"kiicloud://users/U1/buckets/b/objects/o","expect":{}} => 3:52: 'expect' needs a payload; no \#
            message arrives at a step with 'write'
            {"gap":"lost"} => 3:8: unknown cause of a gap 'lost'; known: sessionLost, sessionUnknown, notAccepted, \#
            stateHealed, firstStart, deadLetterReplaced
            {"gap":"firstStart","mqtt":7,"expect":{}} => 3:21: 'mqtt' needs a payload; no broker sends a gap
            {"payload":{},"fail":["relod"]} => 3:23: unknown handler 'relod'; did you mean 'reload'?
            {"payload":{},"transport":1} => 3:27: expected the name of a transport, found a number
            """#))
    func steps(step: String, expected: String) {
        tests(test: "{\"name\":\"n\",\"steps\":[\n\(step)]}", expected: expected)
    }

    @Test(
        "reports each mistake in what a test expects with its position",
        arguments: rows(
            #"""
            "outcom":"handled" => 4:1: unknown key 'outcom'; did you mean 'outcome'?
            "outcome":"handeld" => 4:11: unknown outcome 'handeld'; did you mean 'handled'?
            "outcome":"quarantined" => 4:11: unknown outcome 'quarantined'; known: handled, duplicate, looped, paced, \#
            deadLettered, superseded, expired, refused, unrouted, failed, undecodable
            "layer":"pace" => 4:9: unknown layer 'pace'; known: identity, echo, lineage, killSwitch, ownBucket
            "code":"emty" => 4:8: unknown code 'emty'; did you mean 'empty'?
            "rules":"ab" => 4:9: expected a list of rules' ids, found a string
            "rules":["ab","ba"] => 4:15: unknown rule 'ba'; did you mean 'ab'?
            "handlers":["reload","ab"] => 4:22: unknown handler 'ab'; known: reload
            "kind":"direct" => 4:8: unknown kind 'direct'; known: pushToApp, pushToUser, directPush
            """#))
    func expectations(expect: String, expected: String) {
        steps(step: "{\"payload\":{},\"expect\":{\n\(expect)}}", expected: expected)
    }

    @Test("reports all problems at once, by position")
    func allAtOnce() {
        let text = """
            {"version": 1, "ap": "x",
             "rules": [{"id": "a", "when": {"buckt": "b", "kind": "x"}, "then": {"handler": 1}}],
             "tests": [{"name": "n", "steps": [{"kill": "nobody", "at": "1"}]}],
             "dedupe": {"count": "1"}}
            """
        #expect(
            RulesSamples.problems(text).map { String($0.prefix { $0 != " " }) } == [
                "1:16:", "2:33:", "2:55:", "2:81:", "3:61:", "4:22:",
            ])
    }

    @Test("an error prints one problem a line, as compilers do, and says how many it left out")
    func printing() throws {
        let error = #expect(throws: RulesError.self) {
            try RoutingRules("{\"version\": 1,\n \"x\": 1, \"y\": 2, \"rules\": []}", file: "dir/rules.json")
        }
        #expect(
            error?.description.split(separator: "\n").map { String($0.prefix(34)) } == [
                "dir/rules.json:2:2: unknown key 'x", "dir/rules.json:2:10: unknown key '",
            ])
        let keys = (0..<250).map { "\"wrong\($0)\":0" }.joined(separator: ",")
        let many = #expect(throws: RulesError.self) { try RoutingRules("{\"version\":1,\"rules\":[],\(keys)}") }
        #expect(many?.problems.count == 100 && many?.omitted == 150)
        #expect(many?.description.hasSuffix("and 150 more problems") == true)
    }

    @Test("no text of the file can forge a line of the report or fill a screen")
    func quoting() {
        let long = String(repeating: "x", count: 5000)
        for key in ["a\\nrules.json:1:1: fine", "\\u001b[2J", "\\u0085", long] {
            let problems = RulesSamples.problems("{\"version\":1,\"rules\":[],\"\(key)\":1}")
            #expect(problems.count == 1 && problems[0].utf8.count < 200)
            #expect(!problems[0].unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
        }
    }

    @Test("columns count bytes, and a line ends with a line feed, with or without a carriage return")
    func places() {
        let text = "{\"version\":1,\r\n\"app\":\"\u{1F600}\u{E9}\",\"x\":1,\n\t\"y\":1,\"rules\":[]}"
        #expect(RulesSamples.problems(text).map { String($0.prefix(4)) } == ["2:16", "3:2:"])
    }
}
