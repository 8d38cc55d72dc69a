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
        #expect(names(loop?["ownBucket"]) == Set(RouteOptions.OwnBucket.allCases.map(\.rawValue)))
        let expect = definitions["expectation"]?["properties"]
        #expect(names(expect?["outcome"]) == Set(RuleExpectation.outcomes))
        #expect(names(expect?["layer"]) == Set(LoopLayer.allCases.map(\.rawValue)))
        #expect(names(expect?["code"]) == Set(DecodeError.Code.allCases.map(\.rawValue)))
    }
}
