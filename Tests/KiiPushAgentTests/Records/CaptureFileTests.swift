import Glibc
import KiiPush
import KiiPushRules
import KiiPushTesting
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport

struct CaptureFileTests {
    let folder: Folder
    let clock = ManualClock(start: MonotonicInstant(nanoseconds: 1_000_000_000_000))

    init() throws { folder = try Folder() }

    private func capture(limit: Int = 1 << 20) -> CaptureFile {
        CaptureFile(path: folder["c"], limit: limit, clock: clock)
    }

    /// The steps of a file, as `rules diff` reads them.
    private func steps(_ name: String = "c") throws -> [(at: Duration, incoming: RuleTestStep.Incoming)] {
        var corpus = RuleCorpus(file: name)
        return try folder.read(name).split(separator: "\n").enumerated().map { index, line in
            let step = try corpus.step(Array(line.utf8), number: index + 1)
            guard case .receive(let incoming) = step.action else { throw TestFailure(what: "no payload", code: 0) }
            return (step.at, incoming)
        }
    }

    @Test("records what `rules diff` reads: bytes, times and transports")
    func roundTrip() throws {
        let deep = String(repeating: "[", count: 31) + String(repeating: "]", count: 31)
        let texts = [
            #"{"a":1}"#, "{\"a\":\n1}", " {\"a\":1} ", "not json \"\\\u{1F}", "", "{", "[1]", #"{"a":1,"a":2}"#,
            #"{"b":{"a":1,"a":2}}"#, "{\"d\":\(deep)}", #"{"a":"ä\u00e4\u{2028}"}"#, "{\"a\":1}\r\n",
            #"{"payload":{}}"#,
        ]
        let payloads =
            texts.map { RawPayload($0, transport: .mqtt) } + [
                PayloadFixture.pushToApp().payload(.strings), RawPayload("{}"), RawPayload("{}", transport: ""),
                RawPayload("{}", transport: "my \"net\"\n"),
            ]
        let file = capture()
        for payload in payloads {
            try file.add(payload)
            clock.advance(by: .milliseconds(1500))
        }
        let found = try steps()
        #expect(found.map(\.incoming.bytes) == payloads.map(\.bytes))
        #expect(found.map(\.at) == payloads.indices.map { Duration.milliseconds(1500 * $0) })
        for (step, payload) in zip(found, payloads) {
            // What is no name to a corpus is left out.
            let name = payload.transport?.name
            #expect(step.incoming.transport?.name == (["mqtt", "fcm"].contains(name) ? name : nil))
        }
        let lines = try folder.read("c").split(separator: "\n")
        #expect(lines.count { $0.contains(#","payload":"#) } >= 6)
        #expect(lines[0] == #"{"at":"0s","transport":"mqtt","payload":{"a":1}}"#)
        #expect(fileMode(folder["c"]) == 0o600)
    }

    @Test("a line has the time of its payload's arrival, but never one before the line above")
    func arrivals() throws {
        let file = capture()
        for (number, second) in ([10, 12, 11, 15] as [Int64]).enumerated() {
            try file.add(RawPayload("{\"n\":\(number)}").arrived(at: .seconds(second)))
        }
        try file.add(RawPayload("{}"))
        #expect(try steps().map(\.at) == [0, 2, 2, 5, 990].map { Duration.seconds($0) })
    }

    @Test("skips bytes that a line cannot hold")
    func notUTF8() throws {
        let file = capture()
        try file.add(RawPayload([0x7B, 0xFF, 0x7D]))
        try file.add(RawPayload("{}"))
        #expect(try steps().map(\.incoming.bytes) == [Array("{}".utf8)])
    }

    @Test("rotates before the file exceeds its limit")
    func rotation() throws {
        let file = capture(limit: 1024)
        let payloads = (0..<100).map { RawPayload("{\"n\":\(1000 + $0)}") }
        for payload in payloads {
            try file.add(payload)
            clock.advance(by: .seconds(1))
            #expect(try folder.read("c").utf8.count <= 1024)
        }
        #expect(folder.names == ["c", "c.1"])
        let (before, now) = (try steps("c.1"), try steps())
        let all = (before + now).map(\.incoming.bytes)
        #expect(all == payloads.suffix(all.count).map(\.bytes))
        #expect(before.count > 20)
        #expect(now[0].at == .zero)
        #expect(now.last?.at == Duration.seconds(now.count - 1))
        #expect(throws: WriteError(path: folder["c"], number: ErrorNumber(rawValue: EFBIG))) {
            try file.add(RawPayload(String(repeating: "x", count: 1024)))
        }
        #expect(try steps().count == now.count)
    }

    @Test("continues an existing file, and removes a partial line")
    func goesOn() throws {
        for (rest, lines) in [("", 2), ("{\"at\":\"9", 2), ("{\"a", 2), ("\0\0", 2), ("\n", 2)] {
            try folder.write("{\"at\":\"5s\",\"payload\":{}}\n{\"at\":\"7s\",\"payload\":{}}\n\(rest)", to: "c")
            try capture().add(RawPayload("{\"new\":1}"))
            let steps = try steps()
            #expect(steps.count == lines + 1)
            #expect(steps.last?.at == Duration.seconds(7))
        }
        try folder.write("{\"at\":\"9", to: "c")
        try capture().add(RawPayload("{\"new\":1}"))
        #expect(try steps().map(\.at) == [.zero])
    }

    @Test("refuses a file whose first line or unfinished last line is not its own, and changes nothing in it")
    func foreign() throws {
        for text in ["my only notes", "first\nsecond\n", "{\"at\":\"5s\",\"payload\":{}}\n{\"a\":1"] {
            try folder.write(text, to: "c")
            let error = #expect(throws: WriteError.self) { try capture().add(RawPayload("{}")) }
            #expect(error?.description.hasSuffix(": File exists; it is not a capture; name another file") == true)
            #expect(try folder.read("c") == text)
        }
    }

    @Test("recreates a file that was moved or removed")
    func moved() throws {
        let file = capture()
        try file.add(RawPayload("{\"a\":1}"))
        try folder.move("c", to: "old")
        clock.advance(by: .seconds(1))
        try file.add(RawPayload("{\"a\":2}"))
        #expect(try steps("old").count == 1)
        #expect(try steps().map(\.at) == [.zero])
    }

    @Test("reports the file that cannot be written, and keeps anything but a file")
    func refused() throws {
        try folder.link("c", to: "c")
        #expect(throws: WriteError(path: folder["c"], number: ErrorNumber(rawValue: ELOOP))) {
            try capture().add(RawPayload("{}"))
        }
        try folder.remove("c")
        #expect(unsafe mkfifo(folder["c"], 0o600) == 0)
        #expect(throws: WriteError.self) { try capture().add(RawPayload("{}")) }
        let missing = #expect(throws: WriteError.self) {
            try CaptureFile(path: folder["none/c"], clock: clock).add(RawPayload("{}"))
        }
        #expect(missing.map { "\($0)" } == "\(folder["none/c"]): cannot be written: No such file or directory")
        #expect(throws: WriteError.self) { try CaptureFile(path: "a\0b", clock: clock).add(RawPayload("{}")) }
    }

    @Test(
        "another user's file gets nothing; root may write one of the directory's owner, and closes it to others",
        .enabled(if: geteuid() == 0, "only root can make one"), arguments: [true, false])
    func foreign(ownsDirectory: Bool) throws {
        try folder.write([], to: "c", mode: 0o644)
        for path in ownsDirectory ? [folder["c"], folder.path] : [folder["c"]] {
            try #require(unsafe chown(path, 65_534, 65_534) == 0)
        }
        var refusal: WriteError?
        do throws(WriteError) { try capture().add(RawPayload("{}")) } catch { refusal = error }
        #expect(refusal?.number == (ownsDirectory ? nil : ErrorNumber(rawValue: EACCES)))
        #expect(try steps().count == (ownsDirectory ? 1 : 0))
        #expect(fileMode(folder["c"]) == (ownsDirectory ? 0o600 : 0o644))
    }
}

func fileMode(_ path: String) -> mode_t {
    var status = stat()
    return unsafe lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
}
