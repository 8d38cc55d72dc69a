import Glibc
import KiiPushSystem
import Testing

@testable import KiiPushAgent
@testable import kiipush

@Suite("a first start that fails")
struct FirstStartTests {
    @Test(
        "leaves no state directory behind, nor those above it that it made",
        arguments: [
            ["--unix", "/nowhere/at/all.sock"],
            ["--mqtt", "mqtt://u@127.0.0.1:1/t", "--password-file", "/nowhere/at/all"],
            ["--mqtt", "mqtts://127.0.0.1:1/t", "--ca-file", "/nowhere/at/all"], ["--stdin", "--drain", "x"],
        ])
    func leavesNothing(options: [String]) throws {
        let rules = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let input = try TemporaryFile("", name: "input")
        let above = rules.path + ".d"
        let state = above + "/deep/state/"
        let run = try ChildRun(["receive", "--rules", rules.path, "--state", state] + options, input: input.path)
        #expect(run.code == 1 || run.code == 64, "\(run.errors)")
        #expect(run.errors.contains("nowhere") || run.errors.contains("MQTT") || run.code == 64, "\(run.errors)")
        #expect(unsafe access(above, F_OK) != 0, "\(run.errors)")
    }

    @Test("leaves what was there before, and what somebody else has put there")
    func leavesOthers() throws {
        let folder = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let state = folder.path + ".state"
        let start = try #require(FirstStart(state + "/inner"))
        try StateDirectory.make(state + "/inner")
        #expect(FirstStart(state) == nil)
        try replaceFile(state + "/inner/agent.lock", with: "")
        try replaceFile(state + "/inner/kill.json", with: "{}")
        start.undo()
        for name in ["agent.lock", "kill.json"] { #expect(unsafe access("\(state)/inner/\(name)", F_OK) == 0) }
        _ = unsafe unlink("\(state)/inner/kill.json")
        start.undo()
        #expect(unsafe access(state, F_OK) != 0)
    }

    @Test("rules that are no regular file are refused at once", arguments: [true, false])
    func noRegularFile(isPipe: Bool) throws {
        let folder = try TemporaryFile("", name: "x")
        let path = folder.path + ".rules"
        #expect(unsafe (isPipe ? mkfifo(path, 0o600) : mkdir(path, 0o700)) == 0)
        let run = try ChildRun(["receive", "--rules", path, "--stdin", "--state", folder.path + ".state"])
        #expect(run.code == 1)
        #expect(run.errors.contains("\(path): cannot be read: not a regular file"), "\(run.errors)")
        #expect(unsafe access(folder.path + ".state", F_OK) != 0)
        #expect(unsafe (isPipe ? unlink(path) : rmdir(path)) == 0)
    }
}
