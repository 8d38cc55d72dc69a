import Glibc
import KiiPush
import KiiPushRules
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport

@Suite("KillFile", .timeLimit(.minutes(5)))
struct KillFileTests {
    private let folder: Folder
    private let file: KillFile
    private let now = UTCDate("2026-11-21T12:00:00Z") ?? .now

    init() throws {
        folder = try Folder()
        file = KillFile(directory: folder.path)
    }

    private func write(_ text: String) throws { try folder.write(text, to: "kill.json") }

    private func problems() throws -> [String] {
        try file.read().problems.map { "\($0)".replacing("\(file.path):", with: "") }
    }

    // MARK: Reading

    @Test("reads every kind of target with its end, the later one of a repeated target")
    func read() throws {
        try write(
            """
            {"version": 1, "kills": [
              {"target": "settings", "until": "2026-11-21T13:00:00Z"},
              {"until": "2026-11-21T14:00:00.250+01:00", "target": "kiicloud:\\/\\/users/U/buckets/b"},
              {"target": "\\u002a", "until": "2026-11-20T00:00:00Z"},
              {"target": "settings", "until": "2026-11-21T12:30:00Z"}
            ]}
            """)
        let contents = try file.read()
        let bucket = try #require(KillTarget("kiicloud://users/U/buckets/b"))
        #expect(contents.problems.isEmpty)
        #expect(
            contents.kills.mapValues(\.shortText) == [
                .route("settings"): "2026-11-21T13:00:00Z", bucket: "2026-11-21T13:00:00.250Z",
                .everything: "2026-11-20T00:00:00Z",
            ])
    }

    @Test("a missing file or directory means no kills")
    func missing() throws {
        #expect(try file.read().kills.isEmpty && file.read().problems.isEmpty)
        #expect(try KillFile(directory: folder["x/y"]).read().kills.isEmpty)
    }

    private static let noTarget = #"4:11: expected a route's id without "*" or "://", a bucket's URI, or "*", found"#
    private static let noTime = #"4:23: expected a time such as "2026-11-21T12:00:00Z", found"#

    @Test(
        "reports a bad entry with its position, and keeps the others",
        arguments: [
            ("7", #"4:1: expected a kill: {"target":"…","until":"2026-11-21T12:00:00Z"}, found a number"#),
            (#"{"until":"2027-01-01T00:00:00Z"}"#, "4:1: the key 'target' is missing"),
            (#"{"target":"b"}"#, "4:1: the key 'until' is missing"),
            (#"{"target":"kiicloud://topics/t","until":"2027-01-01T00:00:00Z"}"#, "\(noTarget) 'kiicloud://topics/t'"),
            (#"{"target":"","until":"2027-01-01T00:00:00Z"}"#, "\(noTarget) ''"),
            (#"{"target":["b"],"until":"2027-01-01T00:00:00Z"}"#, "\(noTarget) a list"),
            (#"{"target":"b","until":"tomorrow"}"#, "\(noTime) 'tomorrow'"),
            (#"{"target":"b","until":"\u001b[2J"}"#, #"\#(noTime) '\u001b[2J'"#),
            (#"{"target":"b","until":1763726400}"#, "\(noTime) a number"),
            (
                #"{"target":"b","target":"c","until":"2027-01-01T00:00:00Z"}"#,
                "4:15: the key 'target' is a duplicate in this object"
            ),
        ])
    func badEntry(entry: String, problem: String) throws {
        try write(
            """
            {"version":1,"kills":[
            {"target":"a","until":"2027-01-01T00:00:00Z"},

            \(entry),
            {"target":"z","until":"2027-01-01T00:00:00Z"}]}
            """)
        #expect(try problems() == [problem])
        #expect(try Set(file.read().kills.keys) == [.route("a"), .route("z")])
    }

    @Test(
        "refuses a malformed file at the error",
        arguments: [
            ("[]", #"1:1: expected {"version":1,"kills":[…]}, found a list"#),
            ("\u{FEFF}{}", "1:1: the file begins with a byte order mark; save it as UTF-8 without one"),
            ("{\n \"version\":1,\n \"kills\":[}", "3:11: expected a value"),
            (#"{"kills":[]}"#, "1:1: the key 'version' is missing"),
            (#"{"version":1}"#, "1:1: the key 'kills' is missing"),
            (#"{"version":2,"kills":[]}"#, "1:12: unknown version 2; this library reads version 1"),
            (#"{"version":"1","kills":[]}"#, "1:12: expected the version of the format, 1, found a string"),
            (#"{"version":1,"kills":{}}"#, "1:22: expected a list of kills, found an object"),
            (#"{"version":1,"kills":[],"kills":[]}"#, "1:25: the key 'kills' is a duplicate in this object"),
        ])
    func malformed(text: String, what: String) throws {
        try write(text)
        let error = #expect(throws: KillFileError.self) { try file.read() }
        guard case .malformed(let problem) = error else { return #expect(Bool(false), "\(String(describing: error))") }
        #expect(problem.description == "\(file.path):\(what)")
        // An edit would lose what a person meant.
        #expect(error == #expect(throws: KillFileError.self) { try file.kill(.everything, until: now, now: now) })
        #expect(try folder.read("kill.json") == text)
    }

    // MARK: Editing

    @Test("writes one kill a line, with mode 0600, and leaves only the lock beside it")
    func kill() throws {
        let end = now.advanced(by: .seconds(3600))
        let edit = try file.kill(.route("a\"b"), until: end, now: now)
        #expect(edit == KillFile.Edit(before: nil, after: end, problems: []))
        try file.kill(.everything, until: end.advanced(by: .milliseconds(5)), now: now)
        #expect(
            try folder.read("kill.json") == """
                {"version":1,"kills":[
                {"target":"*","until":"2026-11-21T13:00:00.005Z"},
                {"target":"a\\"b","until":"2026-11-21T13:00:00Z"}
                ]}

                """)
        #expect(folder.names == ["kill.json", "kill.json.lock"])
        for name in folder.names {
            var status = stat()
            unsafe stat(folder[name], &status)
            #expect(status.st_mode & 0o777 == 0o600)
        }
    }

    @Test("keeps the later end, and ignores expired kills")
    func later() throws {
        let end = now.advanced(by: .seconds(60))
        try file.kill(.everything, until: end, now: now)
        #expect(try file.kill(.everything, until: now.advanced(by: .seconds(10)), now: now).after == end)
        let late = now.advanced(by: .seconds(60))
        let edit = try file.kill(.everything, until: late.advanced(by: .seconds(10)), now: late)
        #expect(edit.before == nil && edit.after == late.advanced(by: .seconds(10)))
    }

    @Test("revive removes a target and returns its end")
    func revive() throws {
        let end = now.advanced(by: .seconds(60))
        try file.kill(.route("a"), until: end, now: now)
        try file.kill(.route("b"), until: end, now: now)
        #expect(try file.revive(.route("a"), now: now).before == end)
        #expect(try file.revive(.route("a"), now: now).before == nil)
        #expect(try file.read().kills == [.route("b"): end])
        try file.revive(.route("b"), now: now)
        #expect(try folder.read("kill.json") == "{\"version\":1,\"kills\":[]}\n")
    }

    @Test("an edit drops expired kills, and reports and drops what has no effect, such as unknown keys")
    func keeps() throws {
        try write(
            """
            {"version":1, "note" : {"x" : 1}, "kills":[
              {"target":"over","until":"2026-11-21T12:00:00Z"},
              {"target":"odd",  "until":"tomorrow"},
              [1,  2],
              {"target":"stays","until":"2026-11-21T12:00:01Z", "why":"é", "why":2}
            ]}
            """)
        let edit = try file.kill(.route("new"), until: now.advanced(by: .seconds(60)), now: now)
        #expect(
            try folder.read("kill.json") == """
                {"version":1,"kills":[
                {"target":"new","until":"2026-11-21T12:01:00Z"},
                {"target":"stays","until":"2026-11-21T12:00:01Z"}
                ]}

                """)
        #expect(edit.problems.map(\.position.line) == [1, 3, 4, 5, 5])
        #expect(try file.read().problems.isEmpty)
    }

    @Test("an edit that would make the file too large changes nothing")
    func full() throws {
        func entry(_ number: Int) -> String { #"{"target":"\#(number)","until":"2027-01-01T00:00:00Z"}"# }
        let count = (KillFile.largestSize - 100) / (entry(10_000).utf8.count + 2)
        try write(#"{"version":1,"kills":[\#((10_000..<10_000 + count).map(entry).joined(separator: ","))]}"#)
        let before = try folder.read("kill.json")
        #expect(throws: KillFileError.full(path: file.path)) {
            try file.kill(.route(String(repeating: "b", count: 4000)), until: now.advanced(by: .seconds(1)), now: now)
        }
        #expect(try folder.read("kill.json") == before)
    }

    @Test("an edit in a missing directory, or below a file, fails")
    func unwritable() throws {
        let lost = KillFile(directory: folder["x"])
        let error = #expect(throws: KillFileError.self) { try lost.kill(.everything, until: now, now: now) }
        #expect(error?.description == "\(folder["x"])/kill.json.lock: cannot be written: No such file or directory")
        try folder.makeFolder("kill.json")
        let folderError = KillFileError.unreadable(.notAFile(name: file.path))
        #expect(throws: folderError) { try file.kill(.everything, until: now, now: now) }
    }

    @Test("an interrupted edit does not disturb the next")
    func leftOver() throws {
        try folder.write("half of", to: "kill.json.tmp")
        try file.kill(.everything, until: now.advanced(by: .seconds(1)), now: now)
        #expect(folder.names == ["kill.json", "kill.json.lock"])
    }

    @Test("waits for another program's lock up to a limit")
    func locked() throws {
        let lock = try FileLock("\(file.path).lock", limit: .zero)
        let impatient = KillFile(path: file.path, lockLimit: .milliseconds(20))
        let error = KillFileError.locked(path: file.path, limit: .milliseconds(20))
        #expect(throws: error) { try impatient.kill(.everything, until: now, now: now) }
        lock.unlock()
        try impatient.kill(.everything, until: now.advanced(by: .seconds(1)), now: now)
        #expect(try file.read().kills.count == 1)
    }

    @Test("refuses a lock that is a symbolic link")
    func lockLink() throws {
        try folder.write("mine", to: "other")
        try folder.link("kill.json.lock", to: "other")
        #expect(throws: KillFileError.self) { try file.kill(.everything, until: now, now: now) }
        #expect(try folder.read("other") == "mine")
    }

    @Test("many edits at once lose nothing")
    func atOnce() async throws {
        // Each edit syncs, and a thread that has just let go may take the lock again before others look.
        let file = KillFile(path: file.path, lockLimit: .seconds(60))
        let now = now
        let end = now.advanced(by: .seconds(60))
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    await withThread {
                        for number in 0..<10 {
                            _ = try? file.kill(.route("\(thread)-\(number)"), until: end, now: now)
                            if number % 2 == 1 { _ = try? file.revive(.route("\(thread)-\(number - 1)"), now: now) }
                        }
                    }
                }
            }
        }
        let left = (0..<8).flatMap { thread in (0..<5).map { KillTarget.route("\(thread)-\($0 * 2 + 1)") } }
        #expect(try Set(file.read().kills.keys) == Set(left))
    }

    @Test(
        "a file written by root belongs to the directory's owner",
        .enabled(if: geteuid() == 0, "only root can give away"))
    func owner() throws {
        guard unsafe chown(folder.path, 12_345, 12_346) == 0 else { throw TestFailure(what: "chown", code: errno) }
        try file.kill(.everything, until: now.advanced(by: .seconds(1)), now: now)
        for name in ["kill.json", "kill.json.lock"] {
            var status = stat()
            unsafe stat(folder[name], &status)
            #expect(status.st_uid == 12_345 && status.st_gid == 12_346)
        }
    }
}
