#if MQTT
import Foundation
import KiiPush
import KiiPushDelivery
import Testing

@testable import KiiPushMQTT
@testable import KiiPushTestSupport

/// Encrypted links: who is trusted.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct TLSTests {
    /// A certificate that a broker shows.
    enum Certificate: String, CaseIterable {
        case right, wrongName, expired
    }

    @Test("a broker that proves its name is trusted", arguments: MQTTSettings.Version.allCases)
    func right(version: MQTTSettings.Version) async throws {
        let broker = try Self.broker(.right)
        for host in ["127.0.0.1", "localhost"] {
            let intake = TestIntake()
            let settings = Self.settings(broker) {
                $0.version = version
                $0.host = host
            }
            // More than one record's worth, so that what lies decrypted in the library is read too.
            let texts = (1...200).map { "\($0) " + String(repeating: "x", count: 300) }
            try await running(settings, intake) { _ in
                try broker.publish(texts, ["--cafile", "\(broker.folder.path)/ca.crt"])
                try await eventually("all came") { intake.texts.count == texts.count }
            }
            #expect(intake.texts == texts && intake.connections[0].contains("over TLS"))
            #expect(intake.losses.isEmpty)
            try await broker.sawEnd(times: host == "localhost" ? 2 : 1)
        }
    }

    @Test("a broker with another name, an expired certificate or an unknown issuer is not trusted")
    func wrong() async throws {
        for (certificate, trustsIssuer, sign) in [
            (Certificate.wrongName, true, "a host that is in its certificate"),
            (.expired, true, "this machine's time"), (.right, false, "name its CA file"),
        ] {
            let broker = try Self.broker(certificate)
            let intake = TestIntake()
            let settings = Self.settings(broker) { if !trustsIssuer { $0.caFile = nil } }
            try await running(settings, intake, until: "\(certificate): refused twice") { intake.losses.count >= 2 }
            #expect(intake.connections.isEmpty, "\(certificate)")
            #expect(intake.losses[0].contains(sign), "\(certificate)")
            #expect(!broker.log.contains("New client connected"), "\(certificate)")
        }
    }

    @Test(
        "a broker that was away must prove its name as the first one would", arguments: [Certificate.right, .wrongName])
    func back(certificate: Certificate) async throws {
        let broker = try Self.broker(certificate)
        try broker.stop()
        let intake = TestIntake()
        try await running(Self.settings(broker), intake, connects: false) { _ in
            try await eventually("refused twice") { intake.losses.count >= 2 }
            try broker.start()
            try await eventually("connected, or not trusted: \(intake.losses)") {
                certificate == .right
                    ? !intake.connections.isEmpty : intake.losses.contains { $0.contains("host name") }
            }
        }
        #expect(intake.connections.isEmpty == (certificate == .wrongName))
    }

    @Test("a broker that asks for a certificate of ours, and one that is not encrypted, are told as lost links")
    func none() async throws {
        let asking = try Self.broker(.right, ["require_certificate true"])
        let plain = try Broker()
        try Certificates.make(in: plain.folder)
        for broker in [asking, plain] {
            let intake = TestIntake()
            let advice = broker === asking ? "name a client certificate" : "links with TLS"
            try await running(Self.settings(broker) { $0.connectLimit = .seconds(2) }, intake, connects: false) { _ in
                // The broker's alert may be lost with the link.
                try await eventually("advised: \(intake.losses)") { intake.losses.contains { $0.contains(advice) } }
            }
            #expect(intake.connections.isEmpty)
        }
    }

    @Test("a broker that asks for our certificate is shown it; a key that others can read is refused")
    func ownCertificate() async throws {
        let broker = try Self.broker(.right, ["require_certificate true", "use_identity_as_username true"])
        let folder = broker.folder.path
        _ = unsafe chmod("\(folder)/key.pem", 0o600)
        let settings = Self.settings(broker) {
            ($0.certificateFile, $0.keyFile) = ("\(folder)/right.crt", "\(folder)/key.pem")
        }
        let intake = TestIntake()
        try await running(settings, intake) { _ in }
        #expect(intake.losses.isEmpty && broker.log.contains("u'broker'"), "\(broker.log)")
        _ = unsafe chmod("\(folder)/key.pem", 0o640)
        let exposed = #expect(throws: MQTTSettingsError.self) { try MQTTTransport(settings) }
        #expect(exposed?.description.contains("chmod 600") == true)
        _ = unsafe unlink("\(folder)/right.crt")
        let missing = #expect(throws: MQTTSettingsError.self) { try MQTTTransport(settings) }
        #expect(missing?.description.contains("right.crt: cannot be read") == true)
    }

    @Test("a key with a passphrase is a lost link, and nobody is asked for it")
    func passphrase() async throws {
        let broker = try Self.broker(.right, ["require_certificate true"])
        let folder = broker.folder.path
        try Certificates.openssl(
            "ec -aes128 -passout pass:secret -in FOLDER/key.pem -out FOLDER/locked", broker.folder)
        _ = unsafe chmod("\(folder)/locked", 0o600)
        let intake = TestIntake()
        let settings = Self.settings(broker) {
            ($0.certificateFile, $0.keyFile) = ("\(folder)/right.crt", "\(folder)/locked")
        }
        try await running(settings, intake, until: "told") { !intake.losses.isEmpty }
        #expect(intake.connections.isEmpty && intake.losses[0].contains("key"), "\(intake.losses)")
    }

    @Test("MQTT 5 without TLS is refused where a packet could end the process, with what to do")
    func plainFive() throws {
        #expect(MQTTAnswers.endsProcess(2_000_011) && MQTTAnswers.endsProcess(2_000_022))
        #expect(!MQTTAnswers.endsProcess(2_001_000))
        var settings = MQTTSettings(host: "h", topic: "t")
        (settings.clientID, settings.version) = ("device", .v5)
        guard MQTTAnswers.endsProcess(MosquittoClient.libraryNumber) else { return _ = try MQTTTransport(settings) }
        let error = #expect(throws: MQTTSettingsError.self) { try MQTTTransport(settings) }
        #expect(error?.description.contains("use mqtts, MQTT 3.1.1, or libmosquitto 2.1") == true)
        settings.usesTLS = true
        _ = try MQTTTransport(settings)
    }

    @Test("a CA file that cannot be read, or has no certificate, is refused")
    func noFile() throws {
        var settings = MQTTSettings(host: "localhost", topic: "push", usesTLS: true)
        settings.clientID = "device"
        settings.caFile = "/nonexistent/ca.pem"
        let error = #expect(throws: MQTTSettingsError.self) { try MQTTTransport(settings) }
        #expect(error?.description == "/nonexistent/ca.pem: cannot be read: No such file or directory")
        let folder = try Folder()
        let file = try folder.write("no certificate\n", to: "ca.pem")
        settings.caFile = file
        let other = #expect(throws: MQTTSettingsError.self) { try MQTTTransport(settings) }
        #expect(other?.description.hasPrefix("\(file): expected a certificate in PEM") == true)
    }

    static func broker(_ certificate: Certificate, _ more: [String] = []) throws -> Broker {
        let lines = ["cafile FOLDER/ca.crt", "certfile FOLDER/\(certificate.rawValue).crt", "keyfile FOLDER/key.pem"]
        return try Broker(["allow_anonymous true"], options: lines + more) { try Certificates.make(in: $0) }
    }

    static func settings(_ broker: Broker, _ change: (inout MQTTSettings) -> Void = { _ in }) -> MQTTSettings {
        broker.settings {
            $0.usesTLS = true
            $0.caFile = "\(broker.folder.path)/ca.crt"
            change(&$0)
        }
    }
}

/// An authority and what it has signed, made by OpenSSL's program in a test's folder.
enum Certificates {
    private static let request = "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"

    static func make(in folder: Folder) throws {
        try openssl("\(request) -x509 -keyout FOLDER/ca.key -out FOLDER/ca.crt -days 2 -subj /CN=ca", folder)
        try openssl("\(request) -keyout FOLDER/key.pem -out FOLDER/broker.csr -subj /CN=broker", folder)
        for (name, addresses, days) in [
            ("wrongName", "DNS:other.example,IP:192.0.2.1", 2), ("expired", "DNS:localhost,IP:127.0.0.1", -1),
            ("right", "DNS:localhost,IP:127.0.0.1", 2),
        ] {
            try folder.write("subjectAltName=\(addresses)\n", to: "names")
            try sign("broker.csr", name, days: days, folder)
        }
    }

    /// Makes a key and a certificate of the authority for a name, `name.key` and `name.crt`.
    static func make(_ name: String, in folder: Folder) throws {
        try openssl("\(request) -keyout FOLDER/\(name).key -out FOLDER/\(name).csr -subj /CN=\(name)", folder)
        try sign("\(name).csr", name, days: 2, folder)
    }

    private static func sign(_ request: String, _ name: String, days: Int, _ folder: Folder) throws {
        try openssl(
            "x509 -req -in FOLDER/\(request) -CA FOLDER/ca.crt -CAkey FOLDER/ca.key -CAcreateserial -days \(days) "
                + "-extfile FOLDER/names -out FOLDER/\(name).crt", folder)
    }

    static func openssl(_ arguments: String, _ folder: Folder) throws {
        let words = arguments.split(separator: " ").map { String($0).replacing("FOLDER", with: folder.path) }
        try run(["openssl"] + words, output: "\(folder.path)/openssl.log")
    }
}

/// Files of passwords and certificates that are replaced while a transport runs.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct RotationTests {
    @Test("a new certificate and key make the link anew in the same session, and useless ones leave it as it is")
    func certificate() async throws {
        let broker = try TLSTests.broker(.right, ["require_certificate true", "use_identity_as_username true"])
        let folder = broker.folder
        _ = unsafe chmod("\(folder.path)/key.pem", 0o600)
        try folder.replace("own.crt", with: folder.read("right.crt"))
        try folder.replace("own.key", with: folder.read("key.pem"))
        let intake = TestIntake()
        let settings = TLSTests.settings(broker) {
            ($0.certificateFile, $0.keyFile) = ("\(folder.path)/own.crt", "\(folder.path)/own.key")
            $0.fileInterval = .milliseconds(100)
        }
        let ca = ["--cafile", "\(folder.path)/ca.crt", "--cert", "\(folder.path)/right.crt", "--key"]
        try await running(settings, intake) { _ in
            try broker.publish(["a"], ca + ["\(folder.path)/key.pem"])
            try await eventually("a came") { intake.texts == ["a"] }
            _ = unsafe chmod("\(folder.path)/own.key", 0o644)
            try await eventually("told of the open key") { !intake.ignored.isEmpty }
            #expect(intake.ignored[0].contains("chmod 600") && intake.losses.isEmpty)
            try Certificates.make("device", in: folder)
            try folder.replace("own.crt", with: folder.read("device.crt"))
            try folder.replace("own.key", with: folder.read("device.key"))
            try await eventually("connected anew: \(intake.losses)") { intake.connections.count == 2 }
            try broker.publish(["b"], ca + ["\(folder.path)/key.pem"])
            try await eventually("b came") { intake.texts == ["a", "b"] }
        }
        #expect(intake.losses == ["a file of a certificate, key or password has changed"])
        #expect(intake.connections[1].contains("session kept") && intake.gaps.isEmpty)
        #expect(broker.log.contains("u'broker'") && broker.log.contains("u'device'"))
    }

    @Test("a new password is tried at once, however long the pause of a refusal is; a file open to others is refused")
    func password() async throws {
        let broker = try Broker(user: "device", password: "new")
        let file = try broker.folder.write("old", to: "password")
        let settings = broker.settings {
            ($0.user, $0.password) = ("device", .file(file))
            $0.backoff = .seconds(600)
            $0.maxRefusalBackoff = .seconds(600)
            $0.fileInterval = .milliseconds(50)
        }
        let intake = TestIntake()
        try await running(settings, intake, connects: false) { _ in
            try await eventually("refused") { !intake.refusals.isEmpty }
            try broker.folder.replace("password", with: "new\n")
            try await eventually("let in") { !intake.connections.isEmpty }
        }
        #expect(intake.refusals.count == 1 && intake.losses.isEmpty)
        _ = unsafe chmod(file, 0o644)
        let exposed = #expect(throws: MQTTSettingsError.self) { try MQTTTransport(settings) }
        #expect(exposed?.description.contains("chmod 600") == true)
    }
}
#endif
