import KiiPush
import Testing

@testable import KiiCloud

@Suite("the check of a push before it is sent")
struct SendProblemTests {
    private let address = Samples.address(.user(KiiUser(id: "u-77")), sender: .user(id: "u-77"))

    private func told(_ body: String) throws -> [String] {
        try OutgoingMessage(body: body).problems(sentTo: address).map {
            "\($0.network?.rawValue ?? "all") \($0.path) \($0.code.rawValue)"
        }
    }

    @Test("an ordinary push has no problem", arguments: Samples.scopes)
    func fine(scope: KiiScope) {
        var message = OutgoingMessage(data: ["text": "hello", "n": 1, "on": true])
        message.jpush.isEnabled = true
        #expect(message.problems(sentTo: Samples.address(scope)).isEmpty)
    }

    @Test(
        "each problem names its network, its place and its code",
        arguments: [
            (#"{"fcm":{"timeToLive":2419201}}"#, ["fcm fcm.timeToLive outOfRange"]),
            (#"{"gcm":{"timeToLive":-1}}"#, ["fcm gcm.timeToLive outOfRange"]),
            (#"{"mqtt":{"qos":3}}"#, ["mqtt mqtt.qos outOfRange"]),
            (#"{"mqtt":{"qos":-1}}"#, ["mqtt mqtt.qos outOfRange"]),
            (#"{"fcm":{"timeToLive":2419200},"mqtt":{"qos":0}}"#, []), (#"{"fcm":{"timeToLive":0}}"#, []),
            (#"{"mqtt":{"qos":1}}"#, ["mqtt mqtt.qos undocumented"]),
            (#"{"data":{"k":{"b":1}}}"#, ["all data.k nestedValue"]),
            (#"{"data":{"k":[]}}"#, ["all data.k nestedValue"]),
            (#"{"data":{"k":null}}"#, ["all data.k nullValue"]),
            (#"{"mqtt":{"data":{"k":[1]}}}"#, ["mqtt mqtt.data.k nestedValue"]),
            (#"{"fcm":{"data":{"k":1,"b":"1"}}}"#, ["fcm fcm.data.k notAString"]),
            (#"{"gcm":{"data":{"k":false}}}"#, ["fcm gcm.data.k notAString"]),
            (#"{"fcm":{"data":{"k":[1],"l":null}}}"#, ["fcm fcm.data.k nestedValue", "fcm fcm.data.l nullValue"]),
            (#"{"fcm":{"data":{"ttl":"1"}}}"#, ["fcm fcm.data.ttl reservedKey"]),
            (
                #"{"data":{"ttl":1,"gcm.x":2},"gcm":{}}"#,
                ["fcm data.ttl reservedKey", "fcm data.gcm.x reservedKey", "fcm data.gcm.x keyNotReceived"]
            ),
            (#"{"data":{"ttl":1},"apns":{}}"#, []),
            (#"{"data":{"from":"x"},"apns":{}}"#, ["apns data.from keyNotReceived"]),
            (#"{"apns":{"enabled":false},"fcm":{"enabled":false},"mqtt":{"enabled":false}}"#, ["all  noNetwork"]),
            (#"{"fcm":{"dryRun":true},"apns":{}}"#, ["all fcm.dryRun dryRunWithAPNS"]),
            (#"{"sendTopicID":false,"sendObjectScope":false,"apns":{}}"#, ["apns sendTopicID looksDirect"]),
            (#"{"sendTopicID":false,"fcm":{}}"#, ["fcm sendTopicID namesNoTopic"]),
            (#"{"sendTopicID":false,"mqtt":{}}"#, []),
            (#"{"data":{"bi":"x"},"apns":{}}"#, ["apns data looksLikeAppEvent", "apns data.bi keyNotReceived"]),
            (#"{"data":{"bi":"x"},"mqtt":{}}"#, []),
            (#"{"data":{"topic":"x"},"mqtt":{}}"#, ["mqtt data.topic keyNotReceived"]),
            (#"{"data":{"aps":"x"},"apns":{}}"#, ["apns data.aps keyNotReceived"]),
            (
                #"{"data":{"objectID":"x"},"fcm":{}}"#,
                ["fcm data ambiguous", "fcm data.objectID keyNotReceived"]
            ),
            (#"{"data":{"k":1},"jpush":{"data":{"b":2}}}"#, ["jpush jpush.data ownData"]),
            (#"{"data":{"_kl":"1;2;x"}}"#, []), (#"{"data":{"a":1},"apns":{}}"#, ["apns data.a keyNotReceived"]),
        ] as [(String, [String])])
    func problems(body: String, expected: [String]) throws {
        #expect(try told(body) == expected)
    }

    @Test(
        "a topic that Kii cannot have is a problem, and another user's a warning",
        arguments: [
            ("my topic", "u-77", SendProblem.Code.impossibleName), ("a.b", "u-77", .impossibleName),
            (String(repeating: "t", count: 65), "u-77", .impossibleName),
            (String(repeating: "t", count: 64), "u-77", nil), ("t", "u-78", .notOwner),
        ] as [(String, String, SendProblem.Code?)])
    func topics(name: String, owner: String, code: SendProblem.Code?) {
        let topic = KiiTopic(scope: .user(KiiUser(id: owner)), name: name)
        let address = PushAddress(app: "a", topic: topic, sender: .user(id: "u-77"), sentAt: 1)
        #expect(OutgoingMessage().problems(sentTo: address).map(\.code) == (code.map { [$0] } ?? []))
    }

    @Test(
        "a payload is too large by one byte, with what the server adds",
        arguments: [(PushNetwork.apns, 2048), (.fcm, 4096), (.mqtt, 4096)])
    func size(network: PushNetwork, limit: Int) throws {
        let body = #"{"data":{"k":"é"},"\#(network.rawValue)":{}}"#
        var message = try OutgoingMessage(body: body)
        let spare = limit - message.preview(network, sentTo: address).bytes
        message.data["k"] = .string("é" + String(repeating: "x", count: spare))
        #expect(message.problems(sentTo: address).isEmpty)
        message.data["k"] = .string("é" + String(repeating: "x", count: spare + 1))
        let problem = try #require(message.problems(sentTo: address).first)
        #expect(problem.code == .tooLarge && problem.path == network.rawValue && !problem.isWarning)
        #expect(problem.message.contains("\(limit + 1) bytes") && problem.message.contains("sendSender "))
        #expect(!problem.description.contains("xx"))
    }

    @Test("an invalid number is reported")
    func numbers() {
        let data: KeyedData = [
            "nan": .double(.nan), "inf": .double(.infinity), "text": .number("abc"), "fine": 1e20,
        ]
        let problems = OutgoingMessage(data: data).problems(sentTo: address).filter { $0.network == nil }
        #expect(problems.map(\.path) == ["data.nan", "data.inf", "data.text"])
        #expect(problems.allSatisfy { $0.code == .notANumber })
    }

    @Test(
        "rights are as Kii's guides say: an app's topic the developer, a group's its members, a user's a user",
        arguments: [
            (KiiScope.app, PushAddress.developer, true), (.app, .user(id: "u-77"), false),
            (.app, .thing(id: "th.1"), false), (.user(KiiUser(id: "u-77")), .user(id: "u-77"), true),
            (.user(KiiUser(id: "u-77")), .user(id: "u-78"), true),
            (.user(KiiUser(id: "u-77")), .thing(id: "u-77"), false),
            (.user(KiiUser(id: "u-77")), PushAddress.developer, true),
            (.group(KiiGroup(id: "g")), .user(id: "u-1"), true), (.group(KiiGroup(id: "g")), .thing(id: "th.1"), false),
            (.thing(KiiThing(id: "th.1")), .user(id: "u-1"), true),
            (.thing(KiiThing(id: "th.1")), .thing(id: "th.1"), true),
        ])
    func rights(scope: KiiScope, sender: Sender, isAllowed: Bool) {
        let topic = KiiTopic(scope: scope, name: "t")
        #expect((SendingRights.refusal(of: sender, to: topic) == nil) == isAllowed)
        let address = PushAddress(app: "a", topic: topic, sender: sender, sentAt: 1)
        let codes = OutgoingMessage().problems(sentTo: address).filter { !$0.isWarning }.map(\.code)
        #expect(codes == (isAllowed ? [] : [.notAllowed]))
    }
}
