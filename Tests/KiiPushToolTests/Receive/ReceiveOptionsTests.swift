import Glibc
import KiiPush
import KiiPushDelivery
import KiiPushMQTT
import Testing

@testable import kiipush
@testable import KiiPushAgent
@testable import KiiPushTestSupport

@Suite("the command line of kiipush receive")
struct ReceiveOptionsTests {
    @Test("several topics, each with its quality of service, birth and will are those of the broker")
    func topics() throws {
        let arguments = [
            "--rules", "r", "--mqtt", "mqtt://h", "--mqtt-topic", "cmd/+/set", "--mqtt-topic", "0:log/#",
            "--mqtt-topic", "1:0:x", "--mqtt-birth", "s=on=1", "--mqtt-will", "s=",
        ]
        guard case .mqtt(let settings)? = try ReceiveOptions.read(arguments)?.source else {
            Issue.record("not MQTT")
            return
        }
        #expect(settings.subscriptions == [.init("cmd/+/set"), .init("log/#", quality: .zero), .init("0:x")])
        #expect(settings.birth == .init(topic: "s", payload: "on=1".utf8) && settings.will?.payload == [])
    }

    @Test("silences are watched of the agent and of routes, whatever their ids")
    func silences() throws {
        let options = try #require(
            try ReceiveOptions.read(
                ["--rules", "r", "--stdin", "--silent-after", "10m", "--silent-after", "a=b=1h"]))
        #expect(options.settings.silentAfter.map(\.route) == ["", "a=b"])
        #expect(options.settings.silentAfter.map(\.length) == [.seconds(600), .seconds(3600)])
    }

    @Test(
        "an endpoint's file that is wrong is no wrong usage: each problem is a line that begins with its place",
        arguments: [
            (#"{"host":"h","mqttTopic":"t","portTCP":0,"username":1}"#, [":1:39: ", ":1:52: "]),
            (#"{"host":"h","mqttTopic":"t","portTCP":1883,"caFile":"c"}"#, [": a CA file is of no use"]),
            ("nonsense", [":1:2: "]),
        ])
    func endpoints(text: String, places: [String]) async throws {
        let file = try TemporaryFile(text, name: "endpoint.json")
        let run = await ToolRun(["receive", "--rules", "r", "--endpoint", file.path])
        #expect(run.code == .failed)
        #expect(run.errors.count == places.count, "\(run.errors)")
        for (error, place) in zip(run.errors, places) { #expect(error.hasPrefix(file.path + place), "\(error)") }
        let missing = await ToolRun(["receive", "--rules", "r", "--endpoint", file.path + ".none"])
        #expect(missing.code == .failed)
        #expect(missing.errors == ["\(file.path).none: cannot be read: No such file or directory"])
    }

    @Test("what an option adds to a sound endpoint is wrong usage where it does not fit")
    func endpointOptions() async throws {
        let file = try TemporaryFile(#"{"host":"h","mqttTopic":"t","portTCP":1883}"#, name: "endpoint.json")
        let run = await ToolRun(["receive", "--rules", "r", "--endpoint", file.path, "--password-file", "p"])
        #expect(run.code == .usage)
        #expect(run.errors == ["kiipush receive: a password needs a user; try 'kiipush receive --help'"])
    }

    @Test("each option is taken")
    func options() throws {
        let read = try ReceiveOptions.read([
            "--rules", "r.json", "--mqtt", "mqtts://u@broker.example/a%20b", "--state", "/s", "--app", "0123abcd",
            "--metrics", "m", "--capture", "c", "--concurrency", "3", "--in-flight", "16", "--drain", "2s", "--quiet",
            "--client-id", "id", "--ca-file", "ca", "--cert-file", "crt", "--key-file", "key", "--password-file", "pw",
            "--mqtt-version",
            "5", "--clean-session",
        ])
        let options = try #require(read)
        #expect(options.rules == "r.json" && options.state == "/s" && options.app == "0123abcd")
        #expect(options.settings.metrics == "m" && options.settings.capture == "c" && options.settings.isQuiet)
        #expect(options.settings.service.concurrency == 3 && options.settings.service.drain == .seconds(2))
        #expect(options.settings.service.inFlight == 16)
        guard case .mqtt(let settings) = options.source else {
            Issue.record("not MQTT")
            return
        }
        #expect(settings.host == "broker.example" && settings.port == 8883 && settings.usesTLS)
        #expect(settings.subscriptions == [.init("a b")] && settings.user == "u" && settings.clientID == "id")
        #expect(settings.caFile == "ca")
        #expect(settings.certificateFile == "crt" && settings.keyFile == "key")
        #expect(settings.password == .file("pw") && settings.version == .v5 && settings.cleanSession)
    }

    @Test("without --state, lines lie in memory, and a broker's session has a directory")
    func directories() throws {
        #expect(try ReceiveOptions.read(["--rules", "r", "--stdin"])?.state == nil)
        #expect(
            try ReceiveOptions.read(["--rules", "r", "--mqtt", "mqtt://h/t"])?.state?.hasSuffix("/kiipush") == true)
    }
}

struct SessionFilesTests {
    private let folder: Folder
    private let files: SessionFiles

    init() throws {
        folder = try Folder()
        files = SessionFiles(directory: folder.path)
    }
    @Test("a client id is made once, and no longer than MQTT 3.1 allows")
    func made() throws {
        let made = try files.clientID()
        #expect(made.utf8.count == 23 && made.hasPrefix("kiipush-"))
        #expect(try files.clientID() == made)
    }

    @Test("a client id of an earlier version stays as it is")
    func kept() throws {
        try folder.write("kiipush-0123456789abcdef\n", to: "client-id")
        #expect(try files.clientID() == "kiipush-0123456789abcdef")
    }

    @Test("a client id that cannot be read is an error, and no reason to make another one")
    func unreadable() throws {
        try folder.makeFolder("client-id")
        #expect(throws: (any Error).self) { try files.clientID() }
        try folder.remove("client-id")
        try folder.write("\n", to: "client-id")
        #expect(throws: AgentError.self) { try files.clientID() }
    }

    @Test("a session is known by all that makes it, and what cannot be read is an error")
    func session() throws {
        var settings = MQTTSettings(host: "h", topic: String(repeating: "t", count: 60_000))
        settings.clientID = "c"
        #expect(try files.filtersOfSession(settings) == nil)
        settings.subscriptions += [.init("cmd/+/set", quality: .zero), .init("a b/#")]
        try files.noteSession(settings)
        #expect(try files.filtersOfSession(settings) == settings.subscriptions.map(\.filter))
        settings.clientID = "d"
        #expect(try files.filtersOfSession(settings) == nil)
        try folder.remove("mqtt-session")
        try folder.makeFolder("mqtt-session")
        #expect(throws: (any Error).self) { try files.filtersOfSession(settings) }
    }

    #if MQTT
    @Test("retained messages are remembered in the file that settings name, else in the state directory")
    func retained() throws {
        var settings = MQTTSettings(host: "h", topic: "t")
        settings.clientID = "c"
        for (named, files, kept) in [
            (nil, files, files.retainedFile), ("/own", files, "/own"), ("/own", nil, "/own"), (nil, nil, nil),
        ] as [(String?, SessionFiles?, String?)] {
            settings.retainedFile = named
            let transport = try MQTTSource.mqtt(settings).transport(files) as? MQTTTransport
            #expect(transport?.settings.retainedFile == kept)
        }
    }
    #endif
}
