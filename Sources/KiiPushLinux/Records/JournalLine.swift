public import KiiPush
public import KiiPushDelivery

/// A line for a log that journald reads: its priority in front, as `<6>`, and no control characters.
///
/// ```swift
/// receiver.onTrace { trace in print(JournalLine(trace)) }
/// service.onEvent { event in print(JournalLine(event)) }
/// ```
///
/// It says nothing of what a payload holds: no bucket, topic, object, sender or data, only kinds, outcomes, sizes and
/// what the rules' author has named. What a middleware gives as a reason, and errors of programs that rules run, are
/// shown; of other errors the type is.
public struct JournalLine: Sendable, Hashable, CustomStringConvertible {
    /// How urgent a line is, as syslog has it.
    public enum Priority: Int, Sendable, Hashable, CaseIterable {
        /// Something is lost or was given up, and somebody has to look.
        case error = 3
        /// Something went wrong and is dealt with.
        case warning = 4
        /// All is as it should be.
        case information = 6
    }

    /// How urgent it is.
    public let priority: Priority
    /// What it says, without the priority; control characters are escaped.
    public let text: String
    /// The same as fields of the journal.
    public private(set) var fields: [Field] = []

    /// The whole line, without its end.
    public var description: String { "<\(priority.rawValue)>\(text)" }

    /// Makes a line of a text.
    public init(_ priority: Priority, _ text: String) {
        self.priority = priority
        self.text = EscapedText(text).description
    }

    /// How a message ended: `message 12: handled; routes settings; pushToApp, certain; mqtt, 227 bytes; 3.1 ms`.
    ///
    /// Failed, held and undecodable messages are warnings; dead-lettered ones are errors.
    public init(_ trace: Trace) {
        var parts = ["message \(trace.messageID): \(Self.words(trace.outcome))"]
        if !trace.routes.isEmpty {
            let shown = trace.routes.prefix(8).map(Suggestion.shown).joined(separator: ", ")
            let more = trace.routes.count > 8 ? " and \(trace.routes.count - 8) more" : ""
            parts.append("\(trace.routes.count == 1 ? "route" : "routes") \(shown)\(more)")
        }
        if !trace.expired.isEmpty, trace.outcome.name != "expired" {
            parts.append("too old for \(trace.expired.prefix(8).map(Suggestion.shown).joined(separator: ", "))")
        }
        if let message = trace.message { parts.append("\(message.kind.rawValue), \(message.certainty.rawValue)") }
        let carrier = trace.transport.map { Suggestion.shown($0.name) }
        let size = trace.message.map { counted($0.raw.bytes.count, "byte") }
        let carried = [carrier, size].compactMap { $0 }.joined(separator: ", ")
        if !carried.isEmpty { parts.append(carried) }
        parts.append(Self.milliseconds(trace.nanoseconds))
        self.init(Priority(trace.outcome), parts.joined(separator: "; "))
        fields = Self.fields(trace)
    }

    /// What a service tells beside the outcomes.
    public init(_ event: ServiceEvent) {
        switch event {
        case .retry(let id, let route, let attempt, let pause, let cause):
            let pause = Self.milliseconds(Int64(pause / .nanoseconds(1)))
            self.init(
                .warning,
                "message \(id): attempt \(attempt) failed (\(cause)); route \(Suggestion.shown(route)); again in "
                    + "\(pause)"
            )
        case .overrun(let id, let route, let isLeft):
            let what = isLeft ? "did not return after it was cancelled, and is left" : "took too long and is cancelled"
            self.init(isLeft ? .error : .warning, "message \(id): the handler of \(Suggestion.shown(route)) \(what)")
        case .storeFailed(let what): self.init(.error, what)
        case .notDurable(let what): self.init(.warning, what)
        case .transport(let name, let event): self.init(event, of: Suggestion.shown(name))
        }
        fields = Self.fields(event)
    }

    private init(_ event: TransportEvent, of name: String) {
        switch event {
        case .connected(let how): self.init(.information, "\(name): \(how)")
        case .disconnected(let why, let pause):
            let pause = Self.milliseconds(Int64(pause / .nanoseconds(1)))
            self.init(.warning, "\(name): disconnected: \(why); again in \(pause)")
        case .refused(let why, let pause):
            let pause = Self.milliseconds(Int64(pause / .nanoseconds(1)))
            self.init(.warning, "\(name): refused: \(why); again in \(pause), then with longer pauses")
        case .possibleGap(let why): self.init(.error, "\(name): messages may be lost: \(why)")
        case .ignored(let what): self.init(.warning, "\(name): ignored: \(what)")
        }
    }

    // MARK: Words

    private static func words(_ outcome: Outcome) -> String {
        let reason = outcome.reason.map { " (\(Suggestion.shown($0)))" } ?? ""
        guard case .failed(let failure) = outcome else { return outcome.name + reason }
        // What is reported says nothing of a payload; of another's description nobody knows.
        let cause = (failure.error as? any ReportedError)?.report ?? "\(type(of: failure.error))"
        return "\(outcome.name)\(reason): \(cause)"
    }

    /// A time in milliseconds, to three digits behind the point.
    private static func milliseconds(_ nanoseconds: Int64) -> String {
        let thousandths = nanoseconds / 1000 % 1000
        let digits = String(thousandths)
        let padded = String(repeating: "0", count: max(0, 3 - digits.count)) + digits
        let fraction = thousandths == 0 ? "" : ".\(padded)"
        return "\(nanoseconds / 1_000_000)\(fraction) ms"
    }
}

extension JournalLine.Priority {
    /// How urgent the line is of a message that ended so.
    package init(_ outcome: Outcome) {
        self =
            switch outcome {
            case .deadLettered, .quarantined: .error
            case .failed, .held, .undecodable: .warning
            case .handled, .duplicate, .looped, .superseded, .expired, .refused, .unrouted: .information
            @unknown default: .information
            }
    }
}
