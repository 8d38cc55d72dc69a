public import KiiPush
import KiiPushSystem

/// Shows a push's alert to a person; the counterpart of `showMessageAlertWithTitle:`.
///
/// ```swift
/// let presenter = AlertPresenter(appName: "Thermostat", to: .desktop())
/// receiver.onPushToUser(topic: "news") { event, _ in try await presenter.show(event.message) }
/// ```
///
/// It is a value; any number of tasks and threads may show alerts with it at the same time.
public struct AlertPresenter: Sendable, Hashable {
    /// Where alerts are shown.
    @nonexhaustive
    public enum Destination: Sendable, Hashable {
        /// A terminal, or another descriptor: writes the title on a line, then the subtitle and the body, each on an
        /// indented line, as `EscapedText`, in one `write` call.
        ///
        /// As with any output, a pipe without a reader raises `SIGPIPE`.
        case terminal(descriptor: Int32 = 1)

        /// The desktop, by the program `notify-send` of Debian's `libnotify-bin`.
        ///
        /// A name without a slash is searched on `PATH`; the program is started by argument vector, without a shell. It
        /// inherits the environment of this process, but no input or output. At the time limit it is killed. Texts are
        /// truncated to 250 characters for the title, and 4,000 each for the subtitle and the body.
        case desktop(program: String = "notify-send", timeLimit: Duration = .seconds(5))
    }

    /// The title of an alert without a title.
    let appName: String

    let destination: Destination

    /// Makes a presenter.
    ///
    /// - Parameters:
    ///   - appName: the title of an alert without a title.
    ///   - destination: where alerts are shown.
    public init(appName: String, to destination: Destination = .terminal()) {
        (self.appName, self.destination) = (appName, destination)
    }

    /// Shows a message's alert on a thread of its own, and returns when it is shown.
    ///
    /// Cancelling the task does not shorten the wait, which ``Destination`` limits.
    ///
    /// - Parameters:
    ///   - message: the message.
    ///   - title: a title that replaces the alert's own.
    /// - Returns: false if there is nothing to show: no alert, or only blank texts.
    /// - Throws: an error whose description says why it cannot be shown.
    @discardableResult
    public func show(_ message: PushMessage, title: String? = nil) async throws -> Bool {
        guard let text = AlertText(message.alert, title: title, appName: appName) else { return false }
        try await withThread { Result { () throws(ProgramError) in try present(text) } }.get()
        return true
    }

    private func present(_ text: AlertText) throws(ProgramError) {
        switch destination {
        case .terminal(let descriptor):
            do throws(ErrorNumber) { try writeAll(text.terminalText, to: descriptor) } catch {
                throw .cannotPrint(error)
            }
        case .desktop(let program, let timeLimit):
            try run(program, text.notificationArguments, timeLimit)
        }
    }

    private func run(_ program: String, _ texts: [String], _ limit: Duration) throws(ProgramError) {
        let end: ChildProcess.End
        do throws(ErrorNumber) { end = try ChildProcess.run(program, ["--"] + texts, limit: limit) } catch {
            throw ProgramError(program, error)
        }
        if let error = ProgramError(end, program: program) { throw error }
    }
}
