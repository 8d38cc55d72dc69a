import Glibc
import KiiPushMQTT
import Testing

@testable import kiipush
@testable import KiiPushAgent

struct SessionFilesTests {
    private let folder: TemporaryFile
    private let files: SessionFiles
    private var path: String { "\(files.directory)/client-id" }

    init() throws {
        folder = try TemporaryFile("", name: "x")
        files = SessionFiles(directory: folder.directory)
    }

    @Test("a client id is made once, and no longer than MQTT 3.1 allows")
    func made() throws {
        let made = try files.clientID()
        #expect(made.utf8.count == 23 && made.hasPrefix("kiipush-"))
        #expect(try files.clientID() == made)
    }

    @Test("a client id of an earlier version stays as it is")
    func kept() throws {
        try write("kiipush-0123456789abcdef\n")
        #expect(try files.clientID() == "kiipush-0123456789abcdef")
    }

    @Test("a client id that cannot be read is an error, and no reason to make another one")
    func unreadable() throws {
        try #require(unsafe mkdir(path, 0o700) == 0)
        #expect(throws: (any Error).self) { try files.clientID() }
        unsafe rmdir(path)
        try write("\n")
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
        unsafe unlink("\(files.directory)/mqtt-session")
        unsafe mkdir("\(files.directory)/mqtt-session", 0o700)
        #expect(throws: (any Error).self) { try files.filtersOfSession(settings) }
    }

    private func write(_ text: String) throws {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        try #require(unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
    }
}
