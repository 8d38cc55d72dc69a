import KiiPush
import Testing

@testable import KiiCloud

@Suite("what a device would get of a push")
struct PushPreviewTests {
    @Test("the payload without them is reproduced, byte for byte")
    func documentedSuppressed() {
        var message = Samples.alert("Looooooooooooooooooong Message!!")
        message.sends = []
        let preview = message.preview(.apns, sentTo: Samples.documented)
        #expect(preview.text == #"{"aps":{"alert":{"body":"Looooooooooooooooooong Message!!"}}}"#)
    }

    @Test("the guide's silent message to a group goes to three networks with all its data")
    func documentedGroup() throws {
        var message = OutgoingMessage(data: ["str": "str", "int": 1, "bool": false, "double": 1.12])
        message.apns.contentAvailable = true
        #expect(message.networks == [.apns, .fcm, .mqtt])
        let address = Samples.address(.group(KiiGroup(id: "g-5")), sender: .user(id: "u-1"))
        let apns = try PushMessage(message.preview(.apns, sentTo: address).payload)
        #expect(apns.aps?.isSilent == true && apns.scopeGroup == KiiGroup(id: "g-5"))
        #expect(apns.data["int"] == .number("1") && apns.data["bool"] == .bool(false))
        let fcm = try PushMessage(message.preview(.fcm, sentTo: address).payload)
        #expect(fcm.data["double"] == .string("1.12") && fcm.data["bool"] == .string("false"))
        #expect(fcm[.when] == "1700000000123" && fcm.rawObject["when"] == .string("1700000000123"))
        let mqtt = try PushMessage(message.preview(.mqtt, sentTo: address).payload)
        #expect(mqtt.data["double"] == .number("1.12") && mqtt.rawObject["when"] == .number("1700000000123"))
        #expect(mqtt[.sourceURI] == "kiicloud://groups/g-5/topics/doors" && mqtt[.senderURI] == "kiicloud://users/u-1")
    }

    @Test("a network's own data overrides the data for all, and Kii's keys override both")
    func layers() throws {
        var message = OutgoingMessage(data: ["text": "all", "more": 1, "topic": "mine"])
        message.mqtt.data = ["text": "mqtt", "when": 5]
        let mqtt = try PushMessage(message.preview(.mqtt, sentTo: Samples.documented).payload)
        #expect(mqtt.data["text"] == "mqtt" && mqtt.data.keys == ["text", "more"])
        #expect(mqtt.topic == Samples.documented.topic && mqtt.sentAt == Samples.documented.sentAt)
        let fcm = try PushMessage(message.preview(.fcm, sentTo: Samples.documented).payload)
        #expect(fcm.data["text"] == "all")
    }

    @Test("topic, sender and data come back by this SDK's decoder", arguments: Samples.scopes, PushNetwork.allCases)
    func roundTrip(scope: KiiScope, network: PushNetwork) throws {
        for sender in [Sender.user(id: "u-77"), .thing(id: "th.sensor-3")] {
            for off in Samples.suppressions {
                var message = OutgoingMessage(data: ["text": "é\u{1F600}\n", "count": 12, "on": true, "at": 20.5])
                message.sends.subtract(off)
                let address = Samples.address(scope, sender: sender)
                let received = try PushMessage(message.preview(network, sentTo: address).payload)
                let comment: Comment = "\(off)"
                // Over MQTT the two URIs say the same, whatever is suppressed.
                let isMQTT = network == .mqtt
                let namesTopic = isMQTT || !off.contains(.topicID) && !off.contains(.objectScope)
                #expect(received.topic == (namesTopic ? address.topic : nil), comment)
                let hasOwner = scope != .app && !off.contains(.objectScope)
                let isToUser = isMQTT || !off.contains(.topicID) || hasOwner
                #expect(received.kind == (isToUser ? .pushToUser : .directPush), comment)
                #expect(received.sender == (isMQTT || !off.contains(.sender) ? sender : nil), comment)
                #expect(received.sentAt == (off.contains(.when) ? nil : address.sentAt), comment)
                #expect(received.data.keys == ["text", "count", "on", "at"], comment)
                for (key, value) in message.data.members {
                    let expected = network == .fcm ? DataValue.string(value.string ?? "") : value
                    #expect(received.data[key] == expected, comment)
                }
            }
        }
    }

    @Test("every field of Apple's dictionary comes back")
    func apple() throws {
        var message = OutgoingMessage()
        message.apns.alert = .init(title: "T", subtitle: "S", body: "B")
        message.apns.alert?.actionLocKey = "ACT"
        message.apns.alert?.locKey = "LOC"
        message.apns.alert?.locArgs = ["one", "two"]
        message.apns.alert?.launchImage = "i.png"
        message.apns.badge = 3
        message.apns.sound = "ping.aiff"
        message.apns.category = "C"
        message.apns.contentAvailable = false
        message.apns.mutableContent = true
        let aps = try #require(
            try PushMessage(message.preview(.apns, sentTo: Samples.documented).payload).aps)
        #expect(aps.alert?.title == "T" && aps.alert?.subtitle == "S" && aps.alert?.body == "B")
        #expect(aps.alert?.locKey == "LOC" && aps.alert?.locArgs == ["one", "two"])
        #expect(aps.alert?.actionLocKey == "ACT" && aps.alert?.launchImage == "i.png")
        #expect(aps.badge == 3 && aps.sound == "ping.aiff" && aps.category == "C" && aps.mutableContent)
        #expect(!aps.contentAvailable && aps["content-available"] == nil)
    }

    @Test("app, origin and type are there when the sender asks for them", arguments: PushNetwork.allCases)
    func asked(network: PushNetwork) throws {
        var message = OutgoingMessage()
        message.type = "door-opened"
        message.sends.formUnion([.appID, .origin])
        let received = try PushMessage(message.preview(network, sentTo: Samples.documented).payload)
        #expect(received[.appID] == "9a2385ce" && received[.origin] == "EXPLICIT" && received[.type] == "door-opened")
        #expect(received.certainty == .certain)
    }

    @Test("the developer has no bare id, and the URI of an administrator over MQTT")
    func developer() throws {
        let address = Samples.address(.app)
        #expect(try PushMessage(OutgoingMessage().preview(.apns, sentTo: address).payload).sender == nil)
        let mqtt = try PushMessage(OutgoingMessage().preview(.mqtt, sentTo: address).payload)
        #expect(mqtt.sender == .admin("APP_ADMIN") && mqtt.kind == .pushToUser)
    }
}

@Suite("how much of a network's limit a push takes")
struct PushBudgetTests {
    @Test("the guide's sample takes 200 bytes, and each suppression saves what stands in the guide's payload")
    func documented() {
        let message = Samples.alert("short msg only!")
        let budget = message.budget(.apns, sentTo: Samples.documented)
        #expect(budget.used == 200 && budget.limit == 2048 && budget.left == 1848)
        #expect(
            budget.saved == [.sender: 43, .objectScope: 80, .topicID: 15, .when: 18, .appID: 0, .origin: 0])
        var bare = message
        bare.sends = []
        let left = bare.budget(.apns, sentTo: Samples.documented)
        #expect(left.used == 44 && left.saved.values.allSatisfy { $0 == 0 })
    }

    @Test("the savings add up to the difference in bytes", arguments: Samples.scopes, PushNetwork.allCases)
    func agrees(scope: KiiScope, network: PushNetwork) {
        let address = Samples.address(scope, sender: .user(id: "u-77"))
        for off in Samples.suppressions {
            var message = OutgoingMessage(data: ["text": "Tür offen"])
            message.sends.formUnion([.appID, .origin])
            message.sends.subtract(off)
            let budget = message.budget(network, sentTo: address)
            #expect(budget.used == Array(message.preview(network, sentTo: address).text.utf8).count)
            message.sends = []
            let bare = message.budget(network, sentTo: address).used
            #expect(budget.used - budget.saved.values.reduce(0, +) == bare, "\(off)")
        }
    }

    @Test("FCM's notification counts, over FCM only, and is no part of the payload")
    func notification() {
        var message = OutgoingMessage(data: ["text": "hi"])
        let before = PushNetwork.allCases.map { message.budget($0, sentTo: Samples.documented).used }
        message.fcm.notification = .object([("title", "Home"), ("body", "Tür")])
        let more = #""notification":{"title":"Home","body":"Tür"},"#.utf8.count
        for (network, used) in zip(PushNetwork.allCases, before) {
            let budget = message.budget(network, sentTo: Samples.documented)
            #expect(budget.used == used + (network == .fcm ? more : 0))
            #expect(!message.preview(network, sentTo: Samples.documented).text.contains("notification"))
        }
        message.fcm.notification = .object([("body", .string(String(repeating: "x", count: 4096)))])
        let problems = message.problems(sentTo: Samples.documented).filter { !$0.isWarning }
        #expect(
            problems.map(\.code).contains(.tooLarge)
                && problems.allSatisfy { $0.network == .fcm || $0.code == .notAllowed })
    }
}
