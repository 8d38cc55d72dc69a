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

    @Test(
        "writes an alert in one call, with the title that is chosen",
        arguments: [
            (#"{"title":"t","body":"b"}"#, nil, "t\n  b\n"), (#"{"title":"t","body":"b"}"#, "mine", "mine\n  b\n"),
        ] as [(String, String?, String)])
    func oneWrite(alert: String, title: String?, written: String) async throws {
        let shown = try await presenter.show(message(alert), title: title)
        #expect(shown)
        #expect(pipe.read() == written)
    }

    @Test("writes a long alert in one call")
    func longAlert() async throws {
        let body = String(repeating: "x", count: 60_000)
        try await presenter.show(message("\"\(body)\""))
        #expect(pipe.read() == "App\n  \(body)\n")
    }

    @Test(
        "returns false for a message without an alert",
        arguments: ["{}", #"{"aps":{"content-available":1}}"#, #"{"aps":{"alert":""}}"#])
    func nothing(json: String) async throws {
        let message = try PushMessage(RawPayload(json))
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
