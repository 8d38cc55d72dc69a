import CLibrary
public import KiiPush
public import KiiPushRules
public import KiiPushSystem

/// Performs the `run` and `print` actions of rules.
///
/// ```swift
/// try receiver.load(rules, actions: ProgramActions(app: rules.app))
/// ```
///
/// *`{"run": ["reload", "--now"]}`* runs a program by its argument vector, without a shell; a name without a slash is
/// searched on `PATH`. The program gets the message on standard input, as the JSON object that `kiipush inspect
/// --format json` prints, with the transport's name as its `source`; this process's environment, without systemd's
/// notification variables; and in `KIIPUSH_STAMP` the stamp for messages that it sends on. Exit status 0 means that it
/// has handled the message.
///
/// - A line `write kiicloud://…` on its standard output announces a write that it is about to make, as
///   `HandlerContext.writing(_:changing:_:)` does, and `delete kiicloud://…` announces a deletion; both take effect at
///   once, up to 1,000 per run. They count as failed if the program fails. If the route refuses the write, the
///   program is ended.
/// - A line `answer {…}` on its standard output answers the message with JSON, as `HandlerContext.answer(_:)` does, and
///   `answer failed REASON` says that it cannot be done; the last such line counts. Exit status 0 then ends the
///   message.
/// - Its other output is passed on line by line, standard error to `log` and standard output to `note`, up to 64 KiB
///   per run; the rest is read and dropped, so that the program never blocks.
/// - If it fails, the error contains its status or signal and the last lines of its standard error.
/// - When the task is cancelled, as at the end of its time limit, the program and its process group get SIGTERM, and
///   after the grace period SIGKILL. The program is waited for in any case. Processes that it leaves running when it
///   ends by itself are not touched.
///
/// When this process ends while programs run, even by SIGKILL, they and their process groups get SIGKILL, from a shell
/// that is started with the first program. This process must not ignore SIGCHLD, or it could not learn how they end; an
/// agent sees to that.
///
/// *`{"print": true}`* prints the same JSON object on its own line, with one `write` call if the system accepts it. A
/// line whose turn comes after its task was cancelled is not printed: the message is printed when it is tried again.
///
/// Each program has its own waiting thread, and one thread prints; they block no task but the handler's. The service
/// limits how many run at once.
public final class ProgramActions: RuleActions {
    /// Performs `write` and `send` of rules; nil refuses rules that use them.
    public let cloud: (any RuleCloud)?
    private let app: String?
    private let grace: Duration
    private let log: @Sendable (UInt64, String) -> Void
    private let note: @Sendable (UInt64, String) -> Void
    private let printer: LinePrinter
    private let printing = SerialThread()
    private let starts: ProgramStarts
    private let guardian = ProgramGuardian()

    /// Makes the actions.
    ///
    /// - Parameters:
    ///   - app: the receiver's app, which deduplication keys use if the payload names none.
    ///   - output: the descriptor for printed messages; 1 is standard output.
    ///   - cloud: performs `write` and `send` of rules; nil refuses rules that use them.
    ///   - grace: how long a program may take to end after SIGTERM; less than the service's grace, which is 5 s.
    ///   - shortages: notified when programs cannot be started because open files, memory or processes are used up, or
    ///     messages cannot be printed for lack of space, and when they can again. Meanwhile ``run(_:for:_:)`` throws
    ///     a `ResourceShortage`, and retries after a pause that grows from 50 ms to 5 s; a service counts no attempt.
    ///   - note: called with each line of a program's standard output, as `log` is; nil calls `log`.
    ///   - log: called with each line of a program, prefixed by the message's number, the attempt unless it is the
    ///     first, and the program's name, as `message 12: attempt 2: reload: no device`; without control characters.
    ///     Called by a waiting thread, so keep it short. By default, lines go to standard error if that does not block.
    public convenience init(
        app: String? = nil, output: Int32 = 1, cloud: (any RuleCloud)? = nil, grace: Duration = .seconds(3),
        shortages: Shortages = Shortages(), note: (@Sendable (String) -> Void)? = nil,
        log: (@Sendable (String) -> Void)? = nil
    ) {
        let log = log ?? { writeIfReady($0 + "\n", to: STDERR_FILENO) }
        let note = note ?? log
        self.init(
            app: app, output: output, cloud: cloud, grace: grace, shortages: shortages,
            noteOf: { _, line in note(line) }, logOf: { _, line in log(line) })
    }

    /// The same; both closures are called with the message's number too.
    package init(
        app: String? = nil, output: Int32 = 1, cloud: (any RuleCloud)? = nil, grace: Duration = .seconds(3),
        shortages: Shortages = Shortages(), noteOf note: @escaping @Sendable (UInt64, String) -> Void,
        logOf log: @escaping @Sendable (UInt64, String) -> Void
    ) {
        (self.app, self.cloud) = (app, cloud)
        printer = LinePrinter(output, shortages)
        self.grace = min(max(grace, .zero), .seconds(3600))
        starts = ProgramStarts(shortages)
        (self.log, self.note) = (log, note)
    }

    /// Runs a program for a message and returns when it has ended.
    ///
    /// - Throws: a `ReportedError`; a `ResourceShortage` if it was not started; `LoopRefusal` if it announced a write
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
                let id = context.messageID
                var words = ProgramWords(name, context, app: app, log: { log(id, $0) }, note: { note(id, $0) })
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
    /// - Throws: a `ReportedError` if it cannot be printed; a `ResourceShortage` if there is no space for it now;
    ///   `CancellationError` if the task was cancelled before its turn.
    public func print(_ message: PushMessage, _ context: HandlerContext) async throws {
        let line = line(message)
        let isCancelled = Current<Bool>()
        try await withTaskCancellationHandler {
            try await printing.run { [printer] in
                Result {
                    if isCancelled.value == true { throw CancellationError() }
                    try printer.print(line)
                }
            }.get()
        } onCancel: {
            isCancelled.set(true)
        }
    }

    private func line(_ message: PushMessage) -> String {
        JSONReport.line(message, source: message.raw.transport?.name ?? "-", app: app) + "\n"
    }
}
