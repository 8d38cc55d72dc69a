import Testing

@testable import KiiPush
@testable import KiiPushRules
@testable import KiiPushTestSupport

/// The names in the published schema and in the parser; Tests/schema.py compares what both take and refuse.
struct RulesSchemaTests {
    private let definitions: DataValue
    private let root: DataValue

    init() throws {
        root = try #require(DataValue(json: RoutingRules.schema))
        definitions = try #require(root["$defs"])
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
        let combined = ConditionGroup.Operator.allCases.map(\.rawValue)
        #expect(keys(definitions["when"]) == Set(WhenCondition.allCases.map(\.rawValue) + ["data"] + combined))
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
        #expect(names(loop?["ownBucket"]) == Set(RouteOptions.OwnBucket.allCases.map(\.rawValue)))
        let expect = definitions["expectation"]?["properties"]
        #expect(names(expect?["outcome"]) == Set(RuleExpectation.outcomes))
        #expect(names(expect?["layer"]) == Set(LoopLayer.ofOutcomes.map(\.rawValue)))
        #expect(names(expect?["code"]) == Set(DecodeError.Code.allCases.map(\.rawValue)))
    }
}

/// Durations as rules files write them.
struct RuleDurationTests {
    @Test(
        "a number and a unit are a duration",
        arguments: [
            ("0s", .zero), ("10ms", .milliseconds(10)), ("1.5s", .milliseconds(1500)), ("10m", .seconds(600)),
            ("2h", .seconds(7200)), ("1d", .seconds(86_400)), ("007s", .seconds(7)), ("0.25h", .seconds(900)),
            ("36500d", .seconds(36_500 * 86_400)),
        ] as [(String, Duration)])
    func read(text: String, expected: Duration) { #expect(Duration(rule: text) == expected) }

    @Test(
        "rejects anything else",
        arguments: [
            "", "10", "s", "10 s", " 10s", "10s ", "-1s", "+1s", "1e3s", "10S", "10sec", "1.s", ".5s", "1.2.3s", "1,5s",
            "36501d", "99999999999999999s", "999999999999999d", "0.00001s", "10min", "1h30m", "٣s", "1w", "1us",
        ])
    func refused(text: String) { #expect(Duration(rule: text) == nil) }

    @Test(
        "a duration prints in its largest whole unit and reads the same",
        arguments: [
            ("0s", .zero), ("90s", .seconds(90)), ("2m", .seconds(120)), ("1d", .seconds(86_400)),
            ("1500ms", .milliseconds(1500)), ("0.5000ms", .microseconds(500)), ("2.0001ms", .nanoseconds(2_000_100)),
        ] as [(String, Duration)])
    func print(text: String, duration: Duration) {
        #expect(duration.ruleText == text)
        #expect(Duration(rule: text) == duration)
    }
}
