import Foundation
import KiiPush
import Testing

@testable import KiiPushMQTT

/// What settings say together, and the files that they come from.
struct SettingsTests {
    private func settings(_ change: (inout MQTTSettings) -> Void) -> MQTTSettings {
        var settings = MQTTSettings(host: "h", topic: "t")
        settings.clientID = "device"
        change(&settings)
        return settings
    }

    @Test("settings that no broker could use are refused")
    func wrong() throws {
        let cases: [(String, (inout MQTTSettings) -> Void)] = [
            ("host", { $0.host = "" }), ("host", { $0.host = "a\0b" }), ("port", { $0.port = 0 }),
            ("port", { $0.port = 65_536 }), ("topic", { $0.subscriptions[0].filter = "" }),
            ("topic", { $0.subscriptions = [] }),
            ("last level", { $0.subscriptions[0].filter = "a/#/b" }), ("alone", { $0.subscriptions[0].filter = "a#" }),
            ("whole level", { $0.subscriptions[0].filter = "a+/b" }),
            ("in no order", { $0.subscriptions[0].filter = "$share/g/a" }),
            ("named twice", { $0.subscriptions.append(.init("t")) }),
            ("at most 100", { $0.subscriptions += (0..<100).map { .init("\($0)") } }),
            ("birth", { $0.birth = .init(topic: "", payload: []) }),
            ("will", { $0.will = .init(topic: "a/+", payload: []) }),
            ("65536 bytes", { $0.will = .init(topic: "a", payload: [UInt8](repeating: 0, count: 65_537)) }),
            ("topic", { $0.subscriptions[0].filter = String(repeating: "a", count: 65_536) }),
            ("keep-alive", { $0.keepAlive = 4 }),
            ("keep-alive", { $0.keepAlive = 65_536 }), ("client id", { $0.clientID = "" }),
            ("client id", { $0.clientID = "a\nb" }),
            ("client id", { $0.clientID = String(repeating: "a", count: 257) }),
            ("user", { $0.password = .text("x") }), ("user", { $0.user = "a\0" }), ("payload", { $0.payloadLimit = 0 }),
            ("CA file", { $0.caFile = "ca.pem" }),
            (
                "needs its certificate",
                {
                    $0.usesTLS = true
                    $0.keyFile = "k"
                }
            ),
            (
                "needs its key",
                {
                    $0.usesTLS = true
                    $0.certificateFile = "c"
                }
            ),
            ("without TLS", { ($0.certificateFile, $0.keyFile) = ("c", "k") }),
            (
                "NUL",
                {
                    $0.user = "u"
                    $0.password = .text("a\0b")
                }
            ),
        ]
        for (what, change) in cases {
            let error = #expect(throws: MQTTSettingsError.self) { try settings(change).check() }
            #expect(error?.description.contains(what) == true, "\(what): \(String(describing: error))")
        }
        try settings { _ in }.check()
        try settings {
            $0.clientID = ""
            $0.cleanSession = true
        }.check()
    }

    @Test("a file with a password is refused when others could read it")
    func endpointFile() throws {
        let folder = try Folder()
        let secret = #"{"host":"h","mqttTopic":"t","portTCP":1,"username":"u","password":"p"}"#
        let path = try folder.write(secret, to: "e.json")
        #expect(try MQTTSettings(endpointFile: path).password == .text("p"))
        for mode in [0o640, 0o604, 0o610] {
            try folder.write(secret, to: "e.json", mode: mode)
            let error = #expect(throws: MQTTSettingsError.self) { try MQTTSettings(endpointFile: path) }
            #expect(error?.description.contains("chmod 600") == true)
        }
        try folder.write(#"{"host":"h","mqttTopic":"t","portTCP":1}"#, to: "e.json", mode: 0o644)
        #expect(try MQTTSettings(endpointFile: path).port == 1)
        try folder.write("{\n\"host\":}", to: "e.json", mode: 0o644)
        let wrong = #expect(throws: MQTTSettingsError.self) { try MQTTSettings(endpointFile: path) }
        #expect(wrong?.description.hasPrefix("\(path):2:8: ") == true, "\(String(describing: wrong))")
        let missing = #expect(throws: MQTTSettingsError.self) { try MQTTSettings(endpointFile: path + "x") }
        #expect(missing?.description == "\(path)x: cannot be read: No such file or directory")
    }

    @Test("pauses double up to the longest, and begin anew only after a link that held for much longer")
    func backoff() {
        var backoff = Backoff(first: .seconds(1), longest: .seconds(8))
        func next(_ held: Duration = .zero, _ random: Double = 0.5) -> Double {
            (backoff.next(afterLinkOf: held, random: random) / .milliseconds(1)).rounded() / 1000
        }
        #expect((0..<5).map { _ in next() } == [1, 2, 4, 8, 8])
        // Links that hold as long as the other one of two waits are no success.
        #expect((0..<3).map { _ in next(.seconds(9)) } == [8, 8, 8])
        #expect(next(.seconds(31)) == 8 && next(.seconds(32)) == 1)
        // After a short pause a link has to hold for a while too.
        #expect(next(.seconds(9)) == 2 && next(.seconds(10)) == 1)
        #expect(next(.seconds(100), 0) == 0.8 && next(.seconds(100), 1) == 1.2)
        var strange = Backoff(first: .zero, longest: .seconds(-1))
        #expect(strange.next(afterLinkOf: .zero, random: 7) == .microseconds(1200))
    }

    @Test("a refusal is about who asks, what is of the moment is none")
    func answers() {
        for version in [MQTTSettings.Version.v31, .v311] {
            #expect((1...5).filter { MQTTAnswers.isRefusal(connection: $0, version) } == [1, 2, 4, 5])
            #expect(MQTTAnswers.isRefusal(subscription: 0x80, version))
        }
        let refused = (Int32(0x80)...0xA2).filter { MQTTAnswers.isRefusal(connection: $0, .v5) }
        #expect(refused == [0x84, 0x85, 0x86, 0x87, 0x8A, 0x8C, 0x9D])
        let passing = (Int32(0x80)...0xA2).filter { !MQTTAnswers.isRefusal(subscription: $0, .v5) }
        #expect(passing == [0x80, 0x83, 0x91, 0x97])
        for (reason, words) in [
            ("Connection Refused: not authorised.", "not authorised"), ("Not authorized", "not authorized"), ("", ""),
        ] { #expect(MQTTAnswers.words(reason) == words) }
    }
}
