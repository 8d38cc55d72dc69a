import Testing

@testable import KiiPush
@testable import KiiPushRules
@testable import KiiPushTestSupport

/// The published schema against the parser.
struct RulesSchemaTests {
    private let schema: JSONSchema
    private let definitions: DataValue
    private let root: DataValue

    init() throws {
        root = try #require(DataValue(json: RoutingRules.schema))
        definitions = try #require(root["$defs"])
        schema = JSONSchema(root)
    }

    private func keys(_ object: DataValue?) -> Set<String> {
        guard case .object(let members)? = object?["properties"] else { return [] }
        return Set(members.map(\.key))
    }

    private func names(_ schema: DataValue?) -> Set<String> {
        guard case .array(let values)? = schema?["enum"] else { return [] }
        return Set(values.compactMap(\.string))
    }

    @Test("the schema knows each key that the parser knows, and no other")
    func sameKeys() {
        #expect(keys(root) == Set(RoutingRules.keys))
        #expect(keys(definitions["rule"]) == Set(RulesReader.ruleKeys))
        #expect(keys(definitions["rule"]?["properties"]?["then"]) == Set(RulesReader.actions))
        #expect(keys(definitions["write"]) == Set(RulesReader.writeKeys))
        let ofSend = keys(definitions["send"])
        #expect(ofSend.isSuperset(of: RulesReader.besideBody) && ofSend.count == 17)
        #expect(keys(definitions["when"]) == Set(RulesReader.whenKeys))
        #expect(
            Set(RulesReader.whenKeys)
                == Set(
                    WhenCondition.allCases.map(\.rawValue) + ["data"] + ConditionGroup.Operator.allCases.map(\.rawValue)
                ))
        #expect(keys(definitions["test"]) == Set(RulesReader.testKeys))
        #expect(keys(definitions["parameter"]) == Set(RulesReader.parameterKeys))
        #expect(keys(definitions["step"]) == Set(RulesReader.stepKeys))
        #expect(keys(definitions["expectation"]) == Set(RulesReader.expectKeys))
        guard case .array(let forms)? = definitions["predicate"]?["anyOf"] else { return #expect(Bool(false)) }
        #expect(keys(forms.last) == Set(DataPredicate.operators))
    }

    @Test("the schema knows each name of a closed set that the parser knows, and no other")
    func sameNames() {
        #expect(names(definitions["kind"]) == Set(PushKind.allCases.map(\.rawValue)))
        #expect(names(definitions["certainty"]) == Set(Certainty.allCases.map(\.rawValue)))
        let type = definitions["parameter"]?["properties"]?["type"]
        #expect(names(type) == Set(RuleParameter.ValueType.allCases.map(\.rawValue)))
        #expect(names(definitions["scopeType"]) == Set(RulesReader.scopeTypes.map(\.name)))
        let delivery = definitions["delivery"]?["properties"]
        #expect(names(delivery?["order"]) == Set(DeliverySettings.Order.allCases.map(\.rawValue)))
        #expect(names(delivery?["onFailure"]) == Set(DeliverySettings.OnFailure.allCases.map(\.rawValue)))
        let loop = definitions["rule"]?["properties"]?["loop"]?["properties"]
        #expect(names(loop?["ownBucket"]) == Set(RouteLoopPolicy.OwnBucket.allCases.map(\.rawValue)))
        let expect = definitions["expectation"]?["properties"]
        #expect(names(expect?["outcome"]) == Set(RuleExpectation.outcomes))
        #expect(names(expect?["layer"]) == Set(RuleExpectation.layers))
        #expect(names(expect?["code"]) == Set(DecodeError.Code.allCases.map(\.rawValue)))
    }

    private func file(_ part: String, in place: String) -> String {
        let start = #"{"version":1,"#
        let rule = #"{"id":"r","then":{"handler":"h"}"#
        return switch place {
        case "root": "\(start)\"rules\":[],\(part)}"
        case "rule": "\(start)\"rules\":[\(part)]}"
        case "member": "\(start)\"rules\":[\(rule),\(part)}]}"
        case "when": "\(start)\"rules\":[\(rule),\"when\":{\(part)}}]}"
        case "data": "\(start)\"rules\":[\(rule),\"when\":{\"data\":{\"a\":\(part)}}}]}"
        default: "\(start)\"rules\":[\(rule)}],\"tests\":[{\"name\":\"n\",\"steps\":[\(part)]}]}"
        }
    }

    @Test(
        "the schema accepts what the parser accepts",
        arguments: [
            ("root", #""app":"a","me":[],"loop":{},"dedupe":{},"delivery":{},"tests":[]"#),
            ("root", #""me":["user:a","thing:b:c","admin:d"],"serving":["app","user:*","thing:VENDOR_THING_ID:1"]"#),
            (
                "root",
                #""loop":{"hops":0,"echo":"0s","writesAs":[]}"#
            ),
            ("root", #""dedupe":{"window":"0s","count":0,"weak":"36500d"}"#),
            ("root", #""delivery":{"maxAge":"1.5h"}"#), ("root", #""delivery":{"maxAge":false}"#),
            ("root", #""tests":[{"name":"n","now":1700000000000,"steps":[]}]"#),
            ("root", #""params":{"a":{"type":"number","doc":"d","default":1},"b":{"type":"string","secret":true}}"#),
            (
                "root",
                #""params":{"a":{"type":"string","default":"thing:t"}},"me":["${param.a}"],"serving":["${param.a}"],"tests":[{"name":"n","params":[{"a":"user:u"}],"steps":[]}]"#
            ),
            ("rule", #"{"id":"a","then":{"run":["/bin/ls","","-l"]},"continue":true,"writes":[]}"#),
            (
                "member",
                #""writes":["kiicloud://buckets/b","kiicloud://a1/users/u/buckets/b/objects/o","kiicloud://topics/t"]"#
            ),
            ("member", #""loop":{"ownBucket":"refuse"},"delivery":{"order":"none"}"#),
            ("member", #""pace":"standard""#),
            ("member", #""pace":"unlimited""#), ("member", #""pace":"1.5s""#), ("member", #""pace":"100ms""#),
            ("member", #""dedupe":{"by":"data.messageId"}"#), ("member", #""dedupe":{"by":"data.a.\u0301 b"}"#),
            ("when", ""), ("when", #""kind":"*","scope":["APP*","user:*","app",{"equals":"thing:a*"}],"sender":"*""#),
            ("when", #""certainty":["c*",{"equals":"likely"}],"events":"*","transport":{"equals":"a*"}"#),
            ("when", #""any":[{"bucket":"a"},{"not":{"all":[{"topic":"t"}]}}],"all":[{"kind":"*"}]"#),
            ("when", #""data":{"/a/0/*/~0~1":1,"/":2,"//a":3,"/*":4,"":5,"a~2/b":6}"#),
            ("data", "null"), ("data", #"["a",{"not":[1,true]}]"#),
            ("data", #"{"greater":"1e3","less":-1,"prefix":""}"#),
            ("data", #"{"anyOf":[null,false,"*"],"exists":false,"suffix":"x","not":{"equals":7}}"#),
            ("step", #"{"payload":[1]}"#),
            ("step", #"{"at":"1.5s","raw":"","transport":"x","fail":["h"],"expect":{}}"#),
            ("step", #"{"kill":"r"},{"kill":"kiicloud://users/u/buckets/b"},{"revive":"*"}"#),
            ("step", #"{"write":"kiicloud://buckets/b/objects/o"},{"payload":null,"expect":{"rules":[]}}"#),
            ("step", #"{"payload":1,"expect":{"cloud":[{"write":{}},{"send":{"topic":"t"}}]}}"#),
            (
                "rule",
                #"{"id":"a","then":{"write":{"object":"kiicloud://users/${scopeID}/buckets/b/objects/${object}","fields":{"":1},"replace":true}}}"#
            ),
            (
                "rule",
                #"{"id":"a","then":{"send":{"topic":"kiicloud://a/topics/${topic}","as":"user:u","data":null,"gcm":{},"sendWhen":true}}}"#
            ),
        ])
    func accepted(place: String, part: String) throws {
        let text = file(part, in: place)
        #expect(RulesSamples.problems(text).isEmpty)
        #expect(try schema.accepts(#require(DataValue(json: text))))
    }

    @Test("the sample with everything in it is accepted by both")
    func sample() throws {
        #expect(try schema.accepts(#require(DataValue(json: RulesSamples.full))))
    }

    @Test(
        "parser and schema refuse each fault",
        arguments: [
            ("root", #""x":1"#), ("root", #""app":"""#), ("root", #""app":1"#), ("root", #""me":["U1"]"#),
            ("root", #""me":["user:*"]"#), ("root", #""me":"user:a""#), ("root", #""serving":[]"#),
            ("root", #""serving":["admin:a"]"#), ("root", #""serving":["user:"]"#), ("root", #""dedupe":{"x":1}"#),
            ("root", #""dedupe":{"count":-1}"#), ("root", #""dedupe":{"count":1000000001}"#),
            ("root", #""dedupe":{"count":0.5}"#), ("root", #""dedupe":{"window":"10"}"#),
            ("root", #""dedupe":{"window":"1w"}"#), ("root", #""dedupe":{"weak":5}"#),
            ("root", #""loop":{"rate":{}}"#), ("root", #""loop":{"hops":-1}"#), ("root", #""pace":"6s""#),
            ("member", #""pace":"0s""#), ("member", #""pace":6"#), ("member", #""pace":false"#),
            ("member", #""pace":"fast""#), ("member", #""pace":"""#), ("member", #""pace":{"every":"6s"}"#),
            ("root", #""loop":{"writesAs":["user:*"]}"#), ("root", #""loop":{"ownBucket":"warn"}"#),
            ("root", #""delivery":{"attempts":0}"#), ("root", #""delivery":{"order":"fifo"}"#),
            ("root", #""delivery":{"onFailure":null}"#), ("root", #""delivery":{"timeout":"0.00s"}"#),
            ("root", #""delivery":{"maxAge":"0s"}"#), ("root", #""delivery":{"maxAge":true}"#),
            ("root", #""delivery":{"maxAge":60}"#), ("root", #""tests":[{"name":"n","now":-1,"steps":[]}]"#),
            ("root", #""tests":[{"name":"n","now":"1s","steps":[]}]"#),
            ("root", #""params":[]"#), ("root", #""params":{"a":{}}"#),
            ("root", #""params":{"a b":{"type":"string"}}"#),
            ("root", #""params":{"a":{"type":"text"}}"#), ("root", #""params":{"a":{"type":"number","default":"1"}}"#),
            ("root", #""params":{"a":{"type":"string","secret":true,"default":"s"}}"#),
            ("root", #""tests":[{"name":"n","params":[],"steps":[]}]"#),
            ("root", #""tests":[{"name":"n","params":[{"a":[]}],"steps":[]}]"#),
            ("root", #""tests":{}"#), ("root", #""tests":[{"name":"n"}]"#), ("root", #""tests":[{"steps":[]}]"#),
            ("rule", #"{"then":{"print":true}}"#), ("rule", #"{"id":"a"}"#),
            ("rule", #"{"id":"*","then":{"print":true}}"#),
            ("rule", #"{"id":"kiicloud:x","then":{"print":true}}"#), ("rule", #"{"id":"","then":{"print":true}}"#),
            ("rule", #"{"id":"a\t","then":{"print":true}}"#), ("rule", #"{"id":"a","then":{}}"#),
            ("rule", #"{"id":"a","then":{"print":true,"handler":"h"}}"#),
            ("rule", #"{"id":"a","then":{"print":false}}"#),
            ("rule", #"{"id":"a","then":{"run":[]}}"#), ("rule", #"{"id":"a","then":{"run":[""]}}"#),
            ("rule", #"{"id":"a","then":{"run":["a","\u0000"]}}"#), ("rule", #"{"id":"a","then":{"shell":"ls"}}"#),
            ("rule", #"{"id":"a","then":{"write":{"object":"kiicloud://buckets/b","fields":{"n":1}}}}"#),
            ("rule", #"{"id":"a","then":{"write":{"object":"kiicloud://buckets/b/objects/o","fields":{}}}}"#),
            ("rule", #"{"id":"a","then":{"write":{"object":"kiicloud://buckets/b/objects/o","fields":{"_v":1}}}}"#),
            ("rule", #"{"id":"a","then":{"write":{"object":"kiicloud://buckets/b/objects/o"}}}"#),
            ("rule", #"{"id":"a","then":{"send":{"topic":"kiicloud://buckets/b/objects/o","as":"user:u"}}}"#),
            ("rule", #"{"id":"a","then":{"send":{"topic":"kiicloud://topics/t","as":"u"}}}"#),
            ("rule", #"{"id":"a","then":{"send":{"topic":"kiicloud://topics/t","as":"user:u","data":1}}}"#),
            ("rule", #"{"id":"a","then":{"send":{"topic":"kiicloud://topics/t","as":"user:u","more":1}}}"#),
            ("step", #"{"payload":1,"expect":{"cloud":[{}]}}"#),
            ("step", #"{"payload":1,"expect":{"cloud":[{"put":{}}]}}"#),
            ("rule", "[]"), ("member", #""continue":1"#), ("member", #""writes":["kiicloud://users/u"]"#),
            ("member", #""writes":["http://a/buckets/b"]"#), ("member", #""loop":{"rate":false}"#),
            ("member", #""loop":{"ownBucket":"stop"}"#), ("member", #""priority":1"#), ("member", #""when":[]"#),
            ("member", #""dedupe":{}"#), ("member", #""dedupe":{"by":"messageId"}"#),
            ("member", #""dedupe":{"by":"data."}"#), ("member", #""dedupe":{"by":"data.\t"}"#),
            ("member", #""dedupe":{"by":["data.a"]}"#), ("member", #""dedupe":{"by":"data.a","window":"1s"}"#),
            ("member", #""dedupe":"data.a""#), ("when", #""buckt":"a""#), ("when", #""bucket":"""#),
            ("when", #""bucket":[]"#), ("when", #""bucket":1"#),
            ("when", #""bucket":{"prefix":"a"}"#), ("when", #""bucket":{}"#), ("when", #""kind":"push""#),
            ("when", #""kind":{"equals":"*"}"#), ("when", #""scope":"USER""#), ("when", #""scope":"user:""#),
            ("when", #""sender":"U1""#), ("when", #""sender":"group:g""#), ("when", #""certainty":["sure"]"#),
            ("when", #""any":[]"#), ("when", #""any":{"bucket":"a"}"#), ("when", #""all":[{}]"#),
            ("when", #""not":[{"bucket":"a"}]"#), ("when", #""not":{"certainty":"certain"}"#),
            ("when", #""any":[{"buckt":"a"}]"#), ("when", #""data":{"/a~2":1}"#), ("when", #""data":{"/*/a":1}"#),
            ("when", #""transport":null"#), ("when", #""data":1"#), ("data", "[]"), ("data", "{}"),
            ("data", #"{"matches":"a"}"#), ("data", #"{"greater":"x"}"#), ("data", #"{"less":true}"#),
            ("data", #"{"exists":"yes"}"#), ("data", #"{"anyOf":[]}"#), ("data", #"{"anyOf":[[1]]}"#),
            ("data", #"{"equals":{}}"#), ("data", #"{"prefix":1}"#), ("data", #"{"not":{"x":1}}"#),
            ("step", "{}"), ("step", #"{"payload":1,"raw":""}"#), ("step", #"{"raw":1}"#),
            ("step", #"{"at":1,"kill":"r"}"#),
            ("step", #"{"kill":"kiicloud://users/u"}"#), ("step", #"{"kill":""}"#),
            ("step", #"{"write":"kiicloud://topics/t"}"#), ("step", #"{"kill":"r","expect":{}}"#),
            ("step", #"{"write":"kiicloud://buckets/b","transport":"m"}"#), ("step", #"{"payload":1,"transport":""}"#),
            ("step", #"{"payload":1,"fail":"h"}"#), ("step", #"{"payload":1,"expect":{"outcome":"ok"}}"#),
            ("step", #"{"payload":1,"expect":{"layer":"breaker"}}"#), ("step", #"{"payload":1,"expect":{"code":"x"}}"#),
            ("step", #"{"payload":1,"expect":{"rules":"r"}}"#), ("step", #"{"payload":1,"expect":{"kind":"x"}}"#),
            ("step", #"{"payload":1,"expect":{"result":"x"}}"#), ("step", #"{"payload":1,"expect":{"certainty":1}}"#),
        ] as [(String, String)])
    func refused(place: String, part: String) throws {
        let text = file(part, in: place)
        #expect(!RulesSamples.problems(text).isEmpty)
        #expect(try !schema.accepts(#require(DataValue(json: text))))
    }
}
