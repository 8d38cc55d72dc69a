import Foundation
import Glibc
import KiiPush
import KiiPushContracts
import KiiPushTesting
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport

@Suite(.timeLimit(.minutes(5)))
struct ProgramActionsTests {
    let folder: Folder

    init() throws { folder = try Folder() }

    /// The process ids that a script has written into a file, once there are so many.
    private func processes(_ count: Int = 1, in name: String = "pids") async -> [pid_t] {
        var ids: [pid_t] = []
        #expect(
            await comes {
                ids = ((try? folder.read(name)) ?? "").split(separator: "\n").compactMap { pid_t($0) }
                return ids.count == count
            })
        return ids
    }

    // MARK: What it is given

    @Test("a program gets what inspect prints of the message, and the stamp, and no descriptor but the three")
    func surroundings() async throws {
        let payload = PayloadFixture.pushToUser(data: [("a", .string("$HOME `ls` \"'\n"))]).payload(.long)
        let run = ActionRun("cat >\(folder["in"]); echo \"$KIIPUSH_STAMP\" \"$HOME\" >\(folder["env"])")
        #expect(await run.receive(payload) == "handled")
        let message = try PushMessage(payload, app: "0123abcd")
        #expect(try folder.read("in") == JSONReport.line(message, source: "mqtt", app: "0123abcd") + "\n")
        let words = try folder.read("env").split(whereSeparator: \.isWhitespace)
        #expect(words.first?.hasPrefix("1;1;") == true)
        let home = unsafe String(cString: try #require(getenv("HOME")))
        #expect(words.last == home[...])
        // One that does not close on exec, as of whoever started this process.
        let open = dup(STDERR_FILENO)
        defer { close(open) }
        let other = ActionRun("readlink /proc/$$/fd/0 >\(folder["input"]); [ ! -e /proc/$$/fd/\(open) ]")
        #expect(await other.receive() == "handled")
        #expect(try folder.read("input").hasPrefix("pipe:"))
    }

    @Test(
        "the stamp passes no text of a payload into the environment",
        arguments: [
            "1;2;$(reboot)", "1;2;a b", "1;2;é", "1;2;a;b", "1;2;a\nLD_PRELOAD=x", "1;2;", "1;2;a;1;b\nLD_PRELOAD=x",
            "1;2;a;1;LD_PRELOAD=x", "1;2;\(String(repeating: "a", count: 65))",
            "1;2;\(String(repeating: "a", count: 60_000))",
        ])
    func stampOfPayload(stamp: String) async throws {
        let payload = PayloadFixture.pushToUser(data: [(Lineage.key, .string(stamp))]).payload(.long)
        let run = ActionRun("printf %s \"$KIIPUSH_STAMP\" >\(folder["env"])")
        #expect(await run.receive(payload) == "handled")
        let parts = try folder.read("env").split(separator: ";")
        #expect(parts.count == 4 && parts[1] == "1" && parts[2].utf8.count == 32)
    }

    @Test("starts a program by its argument vector, found on PATH, without a shell")
    func vector() async throws {
        let run = ActionRun(["tee", folder["$x;y z"]])
        #expect(await run.receive() == "handled")
        #expect(folder.names == ["$x;y z"])
    }

    @Test("passes a message of any size, and never blocks on a program that does not read")
    func largeInput() async throws {
        let data: [(key: String, value: DataValue)] = [("a", .string(String(repeating: "ä", count: 30_000)))]
        let payload = PayloadFixture.pushToUser(data: data).payload(.long)
        let counting = ActionRun("wc -c >\(folder["count"])")
        #expect(await counting.receive(payload) == "handled")
        #expect(try Int(folder.read("count").filter(\.isNumber)) ?? 0 > 60_000)
        #expect(await ActionRun("exec <&-; exit 0").receive(payload) == "handled")
        #expect(await ActionRun(["true"]).receive(payload) == "handled")
    }

    // MARK: How it ends

    @Test("an exit status other than 0, a signal and a program that is not there are failures that name the program")
    func failures() async throws {
        let cases: [(vector: [String], error: ProgramError, text: String)] = [
            (
                ["/bin/sh", "-c", "exit 3"], .exited(program: "sh", status: 3),
                "sh: ended with exit status 3"
            ),
            (
                ["/bin/sh", "-c", "kill -KILL $$"], .signaled(program: "sh", signal: SIGKILL),
                "sh: ended by signal 9"
            ),
            ([folder["no\nne"]], .notFound(program: folder["no\nne"]), "\(folder["no\\nne"]): not found"),
            ([""], .notFound(program: ""), ": not found on PATH"),
            (
                ["/"], .unusable(program: "/", why: "is a directory, not a program"),
                "/: is a directory, not a program"
            ),
        ]
        for (vector, error, text) in cases {
            let run = ActionRun(vector)
            #expect(await run.receive() == "failed (r)")
            #expect(run.error == error)
            #expect(error.description == text)
        }
    }

    @Test("a program's lines name their message, so that two at once can be told apart")
    func lines() async throws {
        let run = ActionRun("echo out; echo error >&2; exit 1")
        for number in 1...2 {
            #expect(await run.receiveEvent(of: "o-\(number)") == "failed (r)")
        }
        #expect(
            Set(run.wholeLog) == [
                "message 1: sh: out", "message 1: sh: error", "message 2: sh: out", "message 2: sh: error",
            ])
    }

    @Test(
        "a failure has the last lines of standard error, four and 512 bytes at most, without control characters",
        arguments: [
            ("echo a >&2; echo out; exit 1", ["a"]),
            ("for i in 1 2 3 4 5 6; do echo $i >&2; done; exit 1", ["3", "4", "5", "6"]),
            ("printf 'no\\033[2J end' >&2; exit 1", [#"no\u{1B}[2J end"#]),
            ("printf '%600s' x >&2; exit 1", [String(repeating: " ", count: 512)]),
            ("printf 'a\\n%509s\\nbcd' x >&2; exit 1", [String(repeating: " ", count: 508) + "x", "bcd"]),
            // Behind more than is logged.
            (
                "head -c 200000 /dev/zero | tr '\\0' '\\n' >&2; yes y | head -c 90000 >&2; echo end >&2; exit 1",
                ["y", "y", "y", "end"]
            ),
            ("exit 1", []),
        ])
    func lastWords(script: String, said: [String]) async throws {
        let run = ActionRun(script)
        #expect(await run.receive() == "failed (r)")
        guard case .exited("sh", 1, let found)? = run.error else {
            Issue.record("\(String(describing: run.error))")
            return
        }
        // Of a line that is cut, there is a mark.
        #expect(found.map { $0.replacingOccurrences(of: "…", with: "") }.filter { !$0.isEmpty } == said)
        #expect(found.joined().utf8.count <= 512 + 3)
        let report = ProgramError.exited(program: "sh", status: 1, said: ["a", "b"]).report
        #expect(report == "sh: ended with exit status 1, saying: a / b")
    }

    @Test("standard output is not an error, and bad announcements are reported within the bound")
    func bounded() async {
        let run = ActionRun("echo hello; yes 'write kiicloud://topics/t' | head -n 5000; exit 0")
        #expect(await run.receive() == "handled")
        #expect(run.notes == ["sh: hello"])
        #expect(run.log.last == "sh: says more than 65536 bytes; the rest is dropped")
        #expect(run.log.reduce(0) { $0 + $1.utf8.count } < 80_000)
    }

    @Test("a cancelled run ends the program and what it started, and reaps it")
    func cancelled() async throws {
        let run = ActionRun("sleep 1000 & echo $! >>\(folder["pids"]); echo $$ >>\(folder["pids"]); wait")
        let task = Task { await run.receive() }
        let ids = await processes(2)
        task.cancel()
        #expect(await task.value == "failed (r)")
        #expect(run.error == .stopped(program: "sh"))
        #expect(!isRunning(ids[1]))
        // The child is an orphan now, whom somebody else reaps.
        #expect(await comes { isOver(ids[0]) })
    }

    @Test("kills a program that ignores SIGTERM after the grace period")
    func killed() async throws {
        let run = ActionRun(
            "trap '' TERM; echo $$ >\(folder["pids"]); while :; do sleep 1000; done", grace: .milliseconds(20))
        let task = Task { await run.receive() }
        let ids = await processes()
        task.cancel()
        #expect(await task.value == "failed (r)")
        #expect(run.error == .stopped(program: "sh"))
        #expect(!isRunning(ids[0]))
    }

    @Test("a program that ends after SIGTERM has failed")
    func endsGracefully() async throws {
        let run = ActionRun(
            """
            trap 'echo bye >\(folder["bye"]); exit 0' TERM; echo $$ >\(folder["pids"])
            while :; do sleep 0.01; done
            """)
        let task = Task { await run.receive() }
        _ = await processes()
        task.cancel()
        #expect(await task.value == "failed (r)")
        // The shell may have said that its sleep was terminated, too.
        guard case .stopped("sh", _)? = run.error else {
            Issue.record("\(String(describing: run.error))")
            return
        }
        #expect(try folder.read("bye") == "bye\n")
    }

    @Test("a run that was cancelled before it began ends the program too")
    func cancelledBefore() async {
        let run = ActionRun(["sleep", "1000"])
        let task = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return await run.receive()
        }
        #expect(await task.value == "failed (r)")
        #expect(run.error == .stopped(program: "sleep"))
    }

    @Test("a program has ended even if its child keeps its output open")
    func childLeftBehind() async throws {
        let run = ActionRun("sleep 1000 & echo $! >\(folder["pids"]); echo said")
        #expect(await run.receive() == "handled")
        #expect(run.log == ["sh: said"])
        for process in await processes() { kill(process, SIGKILL) }
    }

    // MARK: What it says

    @Test("what a program says is handed to the log by lines, without control characters")
    func log() async {
        let run = ActionRun(#"printf 'one\n\ntwo\033[2J\n<3>three'; printf 'bad' >&2; printf 'write it\n' >&2"#)
        #expect(await run.receive() == "handled")
        #expect(Set(run.log) == ["sh: one", #"sh: two\u{1B}[2J"#, "sh: <3>three", "sh: badwrite it"])
    }

    @Test("never blocks a program with much output, and limits the log", arguments: ["", " >&2"])
    func tooMuch(redirection: String) async {
        let run = ActionRun("yes 0123456789 | head -c 3000000\(redirection)")
        #expect(await run.receive() == "handled")
        let most = 65_536 / 10 + 2
        #expect(run.log.count < most)
        #expect(run.log.last == "sh: says more than 65536 bytes; the rest is dropped")
        let long = ActionRun("head -c 100000 /dev/zero\(redirection); echo\(redirection); echo end\(redirection)")
        #expect(await long.receive() == "handled")
        #expect(long.log == ["sh: line 1 is longer than 4096 bytes and is dropped", "sh: end"])
    }

    // MARK: Printing

    @Test("a message is printed as one line by one call")
    func prints() async throws {
        let pipe = try Pipe(.packets)
        let receiver = PushReceiver()
        let actions = ProgramActions(output: pipe.writeEnd)
        receiver.onAny { message, context in try await actions.print(message, context) }
        let payload = PayloadFixture.pushToApp().payload(.strings)
        try #require(await receiver.receive(payload).name == "handled")
        #expect(pipe.read() == JSONReport.line(try PushMessage(payload), source: "fcm", app: nil) + "\n")
        let unnamed = RawPayload(PayloadFixture.pushToApp(object: "o-2").json(.long))
        try #require(await receiver.receive(unnamed).name == "handled")
        #expect(pipe.read().hasPrefix(#"{"source":"-","#))
    }

    @Test("a message whose run is cancelled before its turn is not printed")
    func printsNotLate() async throws {
        let pipe = try Pipe(.packets)
        pipe.makeReadEndNonBlocking()
        let actions = ProgramActions(output: pipe.writeEnd)
        let receiver = PushReceiver()
        receiver.onAny { message, context in
            while !Task.isCancelled { await Task.yield() }
            try await actions.print(message, context)
        }
        let task = Task { await receiver.receive(PayloadFixture.pushToApp().payload(.long)) }
        task.cancel()
        #expect(await task.value.name == "failed" && pipe.read().isEmpty)
    }

    @Test("printing to a closed pipe fails, and the process survives")
    func printsToNobody() async throws {
        // Shut down, and not closed: a program that another test is just starting would have a copy of the other end.
        let pipe = try Pipe(.packets)
        try #require(shutdown(pipe.writeEnd, Int32(SHUT_WR)) == 0)
        let actions = ProgramActions(output: pipe.writeEnd)
        let receiver = PushReceiver()
        receiver.onAny { message, context in try await actions.print(message, context) }
        guard case .failed(let failure) = await receiver.receive(PayloadFixture.pushToApp().payload(.long)) else {
            Issue.record("it should have failed")
            return
        }
        #expect(failure.error as? ProgramError == .cannotPrint(ErrorNumber(rawValue: EPIPE)))
    }
}
