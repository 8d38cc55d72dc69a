#if MQTT
import Foundation
import KiiPush
import KiiPushMQTT
import Testing

/// Files of passwords and certificates that are replaced while a transport runs.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct RotationTests {
    @Test("a new certificate and key make the link anew in the same session, and useless ones leave it as it is")
    func certificate() async throws {
        let broker = try TLSTests.broker(.right, ["require_certificate true", "use_identity_as_username true"])
        let folder = broker.folder
        _ = unsafe chmod("\(folder.path)/key.pem", 0o600)
        try copy("right.crt", to: "own.crt", folder)
        try copy("key.pem", to: "own.key", folder)
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
            try Certificates.sign("device", folder)
            try copy("device.crt", to: "own.crt", folder)
            try copy("device.key", to: "own.key", folder)
            try await eventually("connected anew: \(intake.losses)") { intake.connections.count == 2 }
            try broker.publish(["b"], ca + ["\(folder.path)/key.pem"])
            try await eventually("b came") { intake.texts == ["a", "b"] }
        }
        #expect(intake.losses == ["a file of a certificate, key or password has changed"])
        #expect(intake.connections[1].contains("session kept") && intake.gaps.isEmpty)
        #expect(broker.log.contains("u'broker'") && broker.log.contains("u'device'"))
    }

    @Test("a new password is tried at once, however long the pause of a refusal is")
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
            let fresh = try broker.folder.write("new\n", to: "fresh")
            try #require(unsafe rename(fresh, file) == 0)
            try await eventually("let in") { !intake.connections.isEmpty }
        }
        #expect(intake.refusals.count == 1 && intake.losses.isEmpty)
    }

    /// Puts a copy in a file's place, as a whole and readable by its owner only.
    private func copy(_ name: String, to other: String, _ folder: Folder) throws {
        let text = try String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8)
        let fresh = try folder.write(text, to: "fresh")
        try #require(unsafe rename(fresh, "\(folder.path)/\(other)") == 0)
    }
}
#endif
