import Foundation
import KiiPush
import KiiPushAgent
import KiiPushSystem
import Testing

@testable import kiipush

@Suite("kiipush kill and revive", .timeLimit(.minutes(5)))
struct KillTests {
    /// A state directory in which no agent runs, in a folder that goes with the test.
    private let state: String
    private let folder: TemporaryFile

    init() throws {
        folder = try TemporaryFile("", name: "unused")
        state = folder.directory + "/state/kiipush"
        try StateDirectory.make(state)
    }

    private var file: String { "\(state)/kill.json" }

    private func write(_ text: String) throws {
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
        try text.write(toFile: file, atomically: true, encoding: .utf8)
    }

    /// Runs a command at a fixed time.
    ///
    /// That nobody obeys yet is its last word whenever it has written something, and 2 its
    /// code: looked at here for all, and taken away.
    private func run(
        _ command: ([String], Console, UTCDate) async -> ExitCode, _ arguments: String...,
        at time: String = "2026-11-21T12:00:00Z"
    ) async throws -> (code: ExitCode, output: [String], errors: [String]) {
        let now = try #require(UTCDate(time))
        let run = await ToolRun { await command(arguments + ["--state", state], $0, now) }
        var (code, output, errors) = (run.code, run.output, run.errors)
        let isOfNobody = errors.last?.hasSuffix(nobody) == true
        #expect(isOfNobody == (code == .nobody))
        #expect(isOfNobody || !output.contains { $0.hasPrefix("kept in") || $0.contains(" is on again") })
        if isOfNobody { errors.removeLast() }
        return (isOfNobody ? .fine : code, output, errors)
    }

    private var nobody: String {
        ": no agent answers in \(state), so nothing is confirmed; the next one obeys from its start"
    }

    private let kill = { await KillCommand.kill($0, $1, now: $2) }
    private let revive = { await KillCommand.revive($0, $1, now: $2) }

    // MARK: What is switched

    @Test(
        "a kill says what is off until when, and where that is kept, without control characters",
        arguments: [
            ("*", "everything"), ("settings", "route 'settings' (if the program has a route of that name)"),
            ("kiicloud://users/U/buckets/b", "bucket kiicloud://users/U/buckets/b"),
            ("a\u{1B}[2J\n", #"route 'a\u{1B}[2J\n' (if the program has a route of that name)"#),
        ])
    func killed(target: String, words: String) async throws {
        let run = try await run(kill, target)
        #expect(run.code == .fine && run.errors.isEmpty)
        #expect(run.output == ["\(words) is off until 2026-11-21T13:00:00Z, for 1h", "kept in \(file)"])
        let kills = try KillFile(path: file).read().kills.mapValues(\.shortText)
        #expect(kills == [try #require(KillTarget(target)): "2026-11-21T13:00:00Z"])
    }

    @Test(
        "a duration is a number and a unit; the end is rounded up to a second",
        arguments: [
            ("1ms", "2026-11-21T12:00:01Z, for 1s"), ("1500ms", "2026-11-21T12:00:02Z, for 2s"),
            ("90s", "2026-11-21T12:01:30Z, for 1m 30s"), ("10m", "2026-11-21T12:10:00Z, for 10m"),
            ("2h", "2026-11-21T14:00:00Z, for 2h"), ("1.5h", "2026-11-21T13:30:00Z, for 1h 30m"),
            ("0090s", "2026-11-21T12:01:30Z, for 1m 30s"), ("36500d", "2126-10-28T12:00:00Z, for 36500d"),
        ])
    func durations(text: String, end: String) async throws {
        #expect(try await run(kill, "*", "--for", text).output.first == "everything is off until \(end)")
    }

    @Test("a duration is told as it was asked for, whatever the time is, and in whole seconds")
    func betweenSeconds() async throws {
        let time = "2026-11-21T12:00:00.870Z"
        #expect(
            try await run(kill, "*", "--for", "1.5s", at: time).output.first
                == "everything is off until 2026-11-21T12:00:03Z, for 2s")
        #expect(
            try await run(kill, "--list", at: time).output == ["everything is off until 2026-11-21T12:00:03Z, for 2s"])
    }

    @Test("a later end that a target has already stays, and the tool says so")
    func later() async throws {
        _ = try await run(kill, "*", "--for", "2h")
        let run = try await run(kill, "*", "--for", "10m")
        #expect(
            run.output.first
                == "everything stays off until 2026-11-21T14:00:00Z, which is later; revive it first to end it sooner")
        #expect(run.code == .fine)
    }

    @Test("revive switches on again, and says when there was nothing to do")
    func revived() async throws {
        _ = try await run(kill, "*")
        #expect(try await run(revive, "*").output == ["everything is on again"])
        let again = try await run(revive, "*")
        #expect(again.code == .fine && again.output == ["everything was not off in \(file); off: nothing"])
        for id in ["settings", "news"] { _ = try await run(kill, id) }
        let news = "route 'news' (if the program has a route of that name)"
        #expect(try await run(revive, "news").output == ["\(news) is on again"])
        let other = try await run(revive, "setings")
        #expect(
            other.output == [
                "route 'setings' (if the program has a route of that name) was not off in \(file); off: settings"
            ])
    }

    @Test("the list shows what is off, the next to end first, and nothing that is over")
    func list() async throws {
        #expect(try await run(kill, "--list").output == ["nothing is off in \(file)"])
        _ = try await run(kill, "late", "--for", "3d")
        _ = try await run(kill, "*", "--for", "90m")
        _ = try await run(kill, "over", "--for", "1s")
        let run = try await run(kill, "--list", at: "2026-11-21T12:00:30Z")
        #expect(
            run.output == [
                "everything is off until 2026-11-21T13:30:00Z, for 1h 29m",
                "route 'late' (if the program has a route of that name) is off until 2026-11-24T12:00:00Z, for 2d 23h",
            ])
        #expect(run.code == .fine && run.errors.isEmpty)
    }

    @Test("a clock that was never set is pointed out")
    func noClock() async throws {
        let run = try await run(kill, "a", at: "1970-01-01T00:00:05Z")
        #expect(run.code == .fine && run.output.first?.contains("1970-01-01T01:00:05Z") == true)
        #expect(
            run.errors.count == 1
                && run.errors.first?.contains("this kill may end as soon as the clock is corrected") == true)
    }

    // MARK: Targets that nothing has

    @Test(
        "a word such as all is taken as an id, with a hint at the star", arguments: ["all", "ALL", "any"])
    func all(word: String) async throws {
        let run = try await run(kill, word)
        #expect(run.code == .fine && run.output.count == 2)
        #expect(run.errors == ["kiipush kill: '\(word)' is treated as a route's id; use '*' for everything"])
    }

    // MARK: What goes wrong

    private var wayOut: String {
        "remove it or repair it; 'kiipush kill --reset' renames it to kill.json.broken and starts with no kills"
    }

    @Test("an empty kill file does not prevent a kill", arguments: ["", " \n\t\r\n"])
    func emptyFile(text: String) async throws {
        try write(text)
        let list = try await run(kill, "--list")
        #expect(list.code == .fine && list.errors.isEmpty && list.output == ["nothing is off in \(file)"])
        #expect(try await run(revive, "*").code == .fine)
        try write(text)
        #expect(try await run(kill, "*").code == .fine)
        #expect(try KillFile(path: file).read().kills.keys.first == .everything)
    }

    @Test("a reset renames a broken file, and keeps it", arguments: ["{", "{\"version\":2}", nil])
    func reset(text: String?) async throws {
        // Nil is one that is too large, whatever is in it.
        let broken = text ?? String(repeating: " ", count: KillFile.largestSize + 1)
        try write(broken)
        let failed = try await run(kill, "*")
        #expect(failed.code == .failed && failed.errors.first?.hasSuffix(wayOut) == true)
        let run = try await run(kill, "--reset")
        #expect(run.code == .fine && run.errors.isEmpty)
        #expect(run.output == ["nothing is off any more; the unreadable file is now \(file).broken"])
        #expect(try String(contentsOfFile: "\(file).broken", encoding: .utf8) == broken)
        #expect(try await self.run(kill, "*").code == .fine)
    }

    @Test("a reset renames a directory too, unless an earlier one has the name")
    func resetDirectory() async throws {
        for _ in 1...2 {
            try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
            _ = try await run(kill, "--reset")
        }
        #expect(try await run(kill, "--reset").errors == ["\(file).broken: cannot be written: File exists"])
    }

    @Test("a file that can be read is not reset, nor is one that is not there")
    func noReset() async throws {
        let answer = "\(file) is readable or missing; nothing was reset"
        #expect(try await run(kill, "--reset").output == [answer])
        _ = try await run(kill, "*")
        #expect(try await run(kill, "--reset").output == [answer])
        #expect(try await run(kill, "--list").output.count == 1 && KillFile(path: file).read().kills.count == 1)
    }

    @Test("a bad entry is told on standard error with its place; edits go on, and a list has failed")
    func badEntry() async throws {
        try write("{\"version\":1,\"kills\":[\n{\"target\":\"odd\",\"until\":\"\u{202E}soon\"}]}")
        let list = try await run(kill, "--list")
        #expect(list.code == .failed)
        let time = #"a time such as "2026-11-21T12:00:00Z""#
        #expect(list.errors == ["\(file):2:25: expected \(time), found '\\u{202E}soon'"])
        let edit = try await run(kill, "a")
        #expect(edit.code == .fine && edit.output.count == 2)
        #expect(edit.errors == list.errors + ["kiipush kill: what had no effect is no longer in the file"])
        #expect(try await run(revive, "odd").errors.isEmpty)
    }

    @Test("a file that is no kill file is exit code 1, with its place and the way out")
    func failed() async throws {
        try write("{\"version\":1,\n\"kills\":]")
        for (command, arguments) in [(kill, ["a"]), (kill, ["--list"]), (revive, ["a"])] {
            let run = try await run(command, arguments[0])
            #expect(run.code == .failed && run.output.isEmpty)
            #expect(run.errors == ["\(file):2:9: expected a value; \(wayOut)"])
        }
    }

    @Test(
        "a state directory that is not there, or is none, is told, and nothing is made",
        arguments: ["kill", "revive", "list", "reset"])
    func noDirectory(action: String) async throws {
        try write("")
        for place in [state + "s", file] {
            let command = action == "revive" ? "revive" : "kill"
            let what = ["kill": "a", "revive": "a", "list": "--list", "reset": "--reset"][action] ?? ""
            let run = await ToolRun(command, what, "--state", place)
            #expect(run.code == .failed && run.output.isEmpty)
            #expect(
                run.errors == [
                    "kiipush \(command): there is no state directory \(place), so no agent runs there; name the "
                        + "agent's directory with --state, or create it for a future agent"
                ])
        }
        #expect(!FileManager.default.fileExists(atPath: state + "s"))
    }
}
