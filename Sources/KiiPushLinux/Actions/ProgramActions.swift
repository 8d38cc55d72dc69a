import Glibc
public import KiiPush
public import KiiPushRules
import Synchronization

/// Does what rules ask for with `run` and `print`.
///
/// ```swift
/// try receiver.load(rules, actions: ProgramActions(app: rules.app))
/// ```
///
/// *`{"run": ["reload", "--now"]}`* runs a program, found on `PATH` unless its name has a slash, by its argument vector
/// and no shell. It is given the message on standard input, as the JSON object that `kiipush inspect --format json`
/// prints, with the transport's name as its `source`; our environment, less what is between us and systemd; and in
/// `KIIPUSH_STAMP` the stamp for what it sends on. It has handled the message when it ends with exit status 0.
///
/// - A line `write kiicloud://…` on its standard output announces a write that it is about to make, as
///   `HandlerContext.willWrite(_:)` does, and `delete kiicloud://…` announces a deletion: at once, as many as 1,000.
///   They have failed when the program fails. Where the route refuses the write, the program is ended.
/// - All else that it says on standard error is handed to `log` line by line, and on standard output to `note`, up to
///   64 KiB a run; the rest is read and dropped, so that the program never waits for us.
/// - Where it fails, the ``ProgramError`` has its status or signal and the last lines of its standard error.
/// - When the task is cancelled, as at the end of its time, the program and all that it has started in its process
///   group get SIGTERM, and after the grace SIGKILL. It is waited for whatever happens. What it leaves running when it
///   ends by itself is left alone.
///
/// When this process ends while programs run, SIGKILL included, they and their process groups get SIGKILL: a shell that
/// is started with the first program sees to that.
///
/// *`{"print": true}`* prints the same JSON object on a line of its own, by one `write` call where the system takes it.
///
/// Each program is waited for by a thread of its own, and all that is printed is written by one; they hold up no task
/// but the handler's. How many run at once is the service's business.
public final class ProgramActions: RuleActions {
    /// What does `write` and `send` of rules; nil refuses rules that ask for them.
    public let cloud: (any RuleCloud)?
    private let app: String?
    private let grace: Duration
    private let log: @Sendable (String) -> Void
    private let note: @Sendable (String) -> Void
    private let printer: LinePrinter
    private let printing = SerialThread()
    private let starts: ProgramStarts
    private let guardian = ProgramGuardian()

    /// Makes the actions.
    ///
    /// - Parameters:
    ///   - app: the receiver's app, which dedupe keys name where the payload does not.
    ///   - output: where messages are printed; 1 is standard output.
    ///   - cloud: what does `write` and `send` of rules; nil refuses rules that ask for them.
    ///   - grace: how long a program may take to end after SIGTERM; below the grace of the service, which is 5 s.
    ///   - shortages: notified when programs cannot be started because open files, memory or processes are used up, or
    ///     messages cannot be printed for want of room, and when they can again. Meanwhile ``run(_:for:_:)`` throws
    ///     ``ProgramShortage``, and tries after a pause that grows from 50 ms to 5 s; a service counts no attempt.
    ///   - note: called with each line that a program says on standard output, as `log` is; nil calls that one.
    ///   - log: called with each line that a program says, its name in front, without control characters; by a thread
    ///     that waits for it, so keep it short. Without one, it is written to standard error if nothing blocks there.
    public init(
        app: String? = nil, output: Int32 = 1, cloud: (any RuleCloud)? = nil, grace: Duration = .seconds(3),
        shortages: Shortages = Shortages(), note: (@Sendable (String) -> Void)? = nil,
        log: (@Sendable (String) -> Void)? = nil
    ) {
        self.app = app
        self.cloud = cloud
        printer = LinePrinter(output, shortages)
        self.grace = min(max(grace, .zero), .seconds(3600))
        starts = ProgramStarts(shortages)
        let log = log ?? { writeIfReady($0 + "\n", to: STDERR_FILENO) }
        self.log = log
        self.note = note ?? log
    }

    /// Runs a program for a message and returns when it has ended.
    ///
    /// - Throws: ``ProgramError``; ``ProgramShortage`` when it was not started; `LoopRefusal` when it announced a write
    ///   that its route refuses.
    public func run(_ arguments: [String], for message: PushMessage, _ context: HandlerContext) async throws {
        let name = ProgramWords.name(of: arguments)
        try starts.check(name)
        let signal: ThreadSignal
        do throws(ErrorNumber) { signal = try ThreadSignal() } catch {
            throw starts.failed(name, error) ?? ProgramError.cannotRun(program: name, error)
        }
        let run = ProgramRun(
            vector: arguments, name: name, stamp: context.stamp, input: Array(line(message).utf8), grace: grace,
            starts: starts, guardian: guardian)
        try await withTaskCancellationHandler {
            try await withThread { [log, note, app] in
                blockBrokenPipeSignal()
                var words = ProgramWords(name, context, app: app, log: log, note: note)
                let result = Result { try run.untilEnd(&words, signal) }
                words.finish(succeeded: (try? result.get()) != nil)
                return result
            }.get()
        } onCancel: {
            signal.end()
        }
    }

    /// Prints a message.
    ///
    /// - Throws: ``ProgramError/cannotPrint(_:)``; ``ProgramShortage`` where there is no room for it now.
    public func print(_ message: PushMessage, _ context: HandlerContext) async throws {
        let line = line(message)
        try await printing.run { [printer] in Result { try printer.print(line) } }.get()
    }

    private func line(_ message: PushMessage) -> String {
        JSONReport.line(message, source: message.raw.transport?.name ?? "-", app: app) + "\n"
    }
}
