import Glibc
public import KiiPush

/// Shows what a push says to a person; the counterpart of `showMessageAlertWithTitle:`.
///
/// ```swift
/// let presenter = AlertPresenter(appName: "Thermostat", to: .desktop())
/// receiver.onPushToUser(topic: "news") { event, _ in try await presenter.show(event.message) }
/// ```
///
/// A value; any number of tasks and threads may show alerts with it at a time.
public struct AlertPresenter: Sendable, Hashable {
    /// Where alerts are shown.
    @nonexhaustive
    public enum Destination: Sendable, Hashable {
        /// A terminal, or whatever the descriptor leads to: the title on a line, then the subtitle and the body, each
        /// on an indented line of its own, as ``EscapedText``, in one `write` call.
        ///
        /// As for any output of a process, a pipe that nobody reads any more raises `SIGPIPE`.
        case terminal(descriptor: Int32 = 1)

        /// The desktop, by the program `notify-send` of Debian's `libnotify-bin`.
        ///
        /// It is found on `PATH` unless its name has a slash, and is started by argument vector, no shell between. It
        /// has the environment of this process, and no input or output. When its time is over it is killed. Texts are
        /// cut at 250 characters of the title and 4,000 of the subtitle and of the body.
        case desktop(program: String = "notify-send", timeLimit: Duration = .seconds(5))
    }

    /// The title of an alert that has none.
    public let appName: String

    /// Where alerts are shown.
    public let destination: Destination

    /// Makes a presenter.
    ///
    /// - Parameters:
    ///   - appName: the title of an alert that has none.
    ///   - destination: where alerts are shown.
    public init(appName: String, to destination: Destination = .terminal()) {
        self.appName = appName
        self.destination = destination
    }

    /// Shows a message's alert, on a thread of its own, and returns when it was shown.
    ///
    /// A cancelled task gets no answer sooner: the wait has its bound in ``Destination``.
    ///
    /// - Parameters:
    ///   - message: the message.
    ///   - title: a title in place of the alert's own.
    /// - Returns: false when there was nothing to show: the message has no alert, or one whose texts are all blank.
    /// - Throws: ``AlertError``.
    @discardableResult
    public func show(_ message: PushMessage, title: String? = nil) async throws(AlertError) -> Bool {
        guard let text = AlertText(message.alert, title: title, appName: appName) else { return false }
        try await withThread { () -> Result<Void, AlertError> in
            do throws(AlertError) { return .success(try present(text)) } catch { return .failure(error) }
        }.get()
        return true
    }

    /// Shows a message's alert, and blocks until it was shown; for code that is not asynchronous.
    ///
    /// - Parameters:
    ///   - message: the message.
    ///   - title: a title in place of the alert's own.
    /// - Returns: false when there was nothing to show: the message has no alert, or one whose texts are all blank.
    /// - Throws: ``AlertError``.
    @discardableResult
    public func show(_ message: PushMessage, title: String? = nil) throws(AlertError) -> Bool {
        guard let text = AlertText(message.alert, title: title, appName: appName) else { return false }
        try present(text)
        return true
    }

    private func present(_ text: AlertText) throws(AlertError) {
        switch destination {
        case .terminal(let descriptor):
            do throws(ErrorNumber) { try writeAll(text.terminalText, to: descriptor) } catch {
                throw .cannotWrite(error)
            }
        case .desktop(let program, let timeLimit):
            try run(program, text.notificationArguments, timeLimit)
        }
    }

    private func run(_ program: String, _ texts: [String], _ limit: Duration) throws(AlertError) {
        let end: ChildProcess.End
        do throws(ErrorNumber) {
            end = try ChildProcess.run(program, ["--"] + texts, limit: limit)
        } catch {
            // On the way along PATH, a directory that may not be looked into counts as a refusal, too.
            let isOnPath = !program.utf8.contains(UInt8(ascii: "/"))
            let isMissing = error.rawValue == ENOENT || isOnPath && error.rawValue == EACCES
            throw isMissing ? .notFound(program: program) : .cannotRun(program: program, error)
        }
        switch end {
        case .exited(0): return
        case .exited(let status): throw .exited(program: program, status: status)
        case .signaled(let signal): throw .signaled(program: program, signal: signal)
        case .timedOut: throw .timedOut(program: program, limit: limit)
        }
    }
}
