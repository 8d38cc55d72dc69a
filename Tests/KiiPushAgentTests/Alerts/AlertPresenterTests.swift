import Glibc
import KiiPush
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport

@Suite(.timeLimit(.minutes(5)))
struct AlertPresenterTests {
    let pipe: Pipe

    init() throws { pipe = try Pipe(.packets) }

    private func message(_ alert: String = #"{"title":"t","body":"b"}"#) throws -> PushMessage {
        try PushMessage(RawPayload(#"{"aps":{"alert":\#(alert)}}"#))
    }

    private var presenter: AlertPresenter { AlertPresenter(appName: "App", to: .terminal(descriptor: pipe.writeEnd)) }

    @Test("writes an alert in one call, however long it is", arguments: [1, 60_000])
    func oneWrite(length: Int) async throws {
        let body = String(repeating: "x", count: length)
        #expect(try await presenter.show(message("\"\(body)\""), title: "mine"))
        #expect(pipe.read() == "mine\n  \(body)\n")
    }

    @Test("returns false for a message without an alert")
    func nothing() async throws {
        let message = try PushMessage(RawPayload(#"{"aps":{"content-available":1}}"#))
        #expect(try await !presenter.show(message, title: "mine"))
        pipe.endInput()
        #expect(pipe.read() == "")
    }

    @Test("a terminal that cannot be written to is an error")
    func cannotWrite() async throws {
        let full = unsafe open("/dev/full", O_WRONLY | O_CLOEXEC)
        defer { close(full) }
        let presenter = AlertPresenter(appName: "App", to: .terminal(descriptor: full))
        await #expect(throws: ProgramError.cannotPrint(ErrorNumber(rawValue: ENOSPC))) {
            try await presenter.show(message())
        }
        #expect(
            ProgramError.cannotPrint(ErrorNumber(rawValue: ENOSPC)).description
                == "it cannot be printed: No space left on device")
    }
}

struct AlertTextTests {
    private func text(_ alert: String, title: String? = nil, appName: String = "App") throws -> AlertText? {
        let message = try PushMessage(RawPayload(#"{"aps":{"alert":\#(alert)}}"#))
        return AlertText(message.alert, title: title, appName: appName)
    }

    @Test(
        "the title is the one asked for, else the alert's, else the app's name",
        arguments: [
            (#""b""#, nil, "App", "App"),
            (#"{"title":"t","body":"b"}"#, nil, "App", "t"),
            (#"{"title":"t","body":"b"}"#, "mine", "App", "mine"),
            (#"{"title":"t","body":"b"}"#, "", "App", "t"),
            (#"{"title":" ","body":"b"}"#, " \n", "App", "App"),
            (#""b""#, nil, "", "Push"),
        ] as [(String, String?, String, String)])
    func titles(alert: String, title: String?, appName: String, expected: String) throws {
        #expect(try text(alert, title: title, appName: appName)?.title == expected)
    }

    @Test(
        "does not show a blank alert",
        arguments: [#""""#, #"" ""#, "{}", #"{"title":"","body":"\n"}"#, "5", "null", #"{"loc-key":"x"}"#])
    func nothing(alert: String) throws {
        #expect(try text(alert, title: "mine") == nil)
    }

    @Test("the subtitle and the body follow the title, each if it is there")
    func paragraphs() throws {
        #expect(try text(#"{"title":"t","subtitle":"s","body":"b"}"#)?.terminalText == "t\n  s\n  b\n")
        #expect(try text(#"{"title":"t"}"#)?.terminalText == "t\n")
        #expect(try text(#"{"title":"t"}"#)?.notificationArguments == ["t"])
        #expect(try text(#"{"title":"t"}"#, title: "mine")?.terminalText == "mine\n")
        #expect(try text(#"{"title":"t","subtitle":"s","body":"b"}"#)?.notificationArguments == ["t", "s\nb"])
    }

    @Test("a payload can neither add terminal lines nor control the terminal")
    func terminalIsSafe() throws {
        let shown = try #require(try text(#"{"title":"a\n\u001b[2Jb","body":"c\r\nd\u0000\u202e\u009b1m"}"#))
        #expect(shown.terminalText == "a\\n\\u{1B}[2Jb\n  c\\r\\nd\\u{0}\\u{202E}\\u{9B}1m\n")
    }

    @Test(
        "escapes a notification's body for markup, control characters and backslashes",
        arguments: [
            (#"<b>&amp; \"x\" 'y'"#, #"&lt;b&gt;&amp;amp; "x" 'y'"#),
            (#"C:\\new"#, #"C:\\new"#),
            (#"a\nb\r\nc\u2028d\n"#, "a\nb\nc\nd\n"),
            (#"\u001b[1m\t\u0000"#, #"\\u{1B}[1m\\t\\u{0}"#),
            (#"--help"#, "--help"),
            (#"$(reboot) `x` ; | *"#, "$(reboot) `x` ; | *"),
        ])
    func notificationIsSafe(json: String, expected: String) throws {
        #expect(try text("\"\(json)\"")?.notificationArguments == ["App", expected])
    }

    @Test("a notification's title is one line, without markup escapes")
    func notificationTitle() throws {
        #expect(try text(#"{"title":"a\n<b> & \\\u0007"}"#)?.notificationArguments == [#"a\n<b> & \\u{7}"#])
    }

    @Test("truncates long texts for notifications")
    func cut() throws {
        let title = String(repeating: "t", count: 250)
        let body = String(repeating: "&", count: 4_000)
        let escaped = String(repeating: "&amp;", count: 4_000)
        #expect(try text(#"{"title":"\#(title)","body":"\#(body)"}"#)?.notificationArguments == [title, escaped])
        #expect(
            try text(#"{"title":"\#(title)t","body":"\#(body)&"}"#)?.notificationArguments
                == [title + "…", escaped + "…"])
        // One character as people count, however many marks stand over it.
        let marks = "e" + String(repeating: "\u{301}", count: 5_000)
        #expect(try text(#""\#(marks)""#)?.notificationArguments.last?.unicodeScalars.count == 4_001)
    }
}

struct NotifySendTests {
    let directory: Folder

    init() throws { directory = try Folder() }

    private let message: PushMessage? = try? PushMessage(
        RawPayload(#"{"aps":{"alert":{"title":"-t $HOME","body":"--urgency=critical\n<b>\"a\" 'b' `c`"}}}"#))

    /// A shell script in the place of notify-send.
    private func program(_ script: String) throws -> String {
        try directory.write(Array("#!/bin/sh\n\(script)\n".utf8), to: "notify-send", mode: 0o700)
    }

    private func show(_ program: String, timeLimit: Duration = .seconds(60)) async throws -> ProgramError? {
        let message = try #require(message)
        let presenter = AlertPresenter(appName: "App", to: .desktop(program: program, timeLimit: timeLimit))
        while true {
            do {
                try await presenter.show(message)
                return nil
            } catch ProgramError.cannotRun(_, ErrorNumber(rawValue: ETXTBSY)) {
                // A child that another test is just starting still has the script open for writing.
                continue
            } catch let error as ProgramError {
                return error
            }
        }
    }

    private func text(of path: String) throws -> String {
        String(decoding: try ByteReader(path: path).readAll(limit: 10_000), as: UTF8.self)
    }

    @Test("passes title and body as arguments after --, without a shell")
    func arguments() async throws {
        let record = directory["arguments"]
        let error = try await show(program("printf '%s\\000' \"$@\" >'\(record)'"))
        #expect(error == nil)
        let expected = ["--", "-t $HOME", "--urgency=critical\n&lt;b&gt;\"a\" 'b' `c`"]
        #expect(try text(of: record) == expected.map { $0 + "\0" }.joined())
    }

    @Test("the program has no input, no output, and our environment")
    func surroundings() async throws {
        let record = directory["record"]
        let script = """
            streams=$(readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2)
            echo "$streams${PATH:+ and PATH}" >'\(record)'
            """
        #expect(try await show(program(script)) == nil)
        let lines = try text(of: record)
        #expect(lines == "/dev/null\n/dev/null\n/dev/null and PATH\n")
    }

    // A program inherits what its starter blocks and ignores. The thread is the test's own, since its mask stays.
    @Test("signals that this process blocks can end the program")
    func signalsAreLetThrough() async throws {
        let end = await withThread {
            var blocked = sigset_t()
            unsafe sigemptyset(&blocked)
            unsafe sigaddset(&blocked, SIGTERM)
            unsafe pthread_sigmask(SIG_BLOCK, &blocked, nil)
            return Result { () throws(ErrorNumber) in
                try ChildProcess.run("/bin/sh", ["-c", "kill -TERM $$"], limit: .seconds(60))
            }
        }
        #expect(try end.get() == .signaled(SIGTERM))
    }

    @Test("a program that does not end is killed when its time is over, and reaped", .timeLimit(.minutes(5)))
    func timeOut() async throws {
        let record = directory["pid"]
        // A time limit that a script on a busy machine may need to get as far as its first line.
        let program = try program("echo $$ >'\(record)'; exec sleep 1000")
        #expect(try await show(program, timeLimit: .seconds(Int64.min)) == .stopped(program: program))
        var limit = Duration.milliseconds(50)
        var recorded = ""
        while recorded.isEmpty {
            #expect(try await show(program, timeLimit: limit) == .stopped(program: program))
            recorded = (try? text(of: record)) ?? ""
            limit *= 2
        }
        let process = try #require(Int32(recorded.dropLast()))
        #expect(kill(process, 0) == -1)
        #expect(errno == ESRCH)
    }

    @Test("a program that is missing, or ends with another exit status than 0, is an error")
    func failures() async throws {
        for missing in [directory.path + "/none", "kiipush-no-such-program", "", "\0", "/bin/sh\0"] {
            #expect(try await show(missing) == .notFound(program: missing))
        }
        #expect(ProgramError.notFound(program: "notify-send").description == "notify-send: not found on PATH")
        let failing = try program("exit 4")
        #expect(try await show(failing) == .exited(program: failing, status: 4))
    }
}
