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

    private var presenter: AlertPresenter {
        AlertPresenter(appName: "App", to: .terminal(descriptor: pipe.writeEnd))
    }

    @Test("writes an alert in one call")
    func oneWrite() async throws {
        let shown = try await presenter.show(message())
        #expect(shown)
        #expect(pipe.read() == "t\n  b\n")
    }

    @Test("writes a long alert in one call")
    func longAlert() async throws {
        let body = String(repeating: "x", count: 60_000)
        try await presenter.show(message("\"\(body)\""))
        #expect(pipe.read() == "App\n  \(body)\n")
    }

    @Test("the title can be chosen")
    func title() async throws {
        let shown = try await presenter.show(message(), title: "mine")
        #expect(shown)
        #expect(pipe.read() == "mine\n  b\n")
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
