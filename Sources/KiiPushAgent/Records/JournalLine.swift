package import KiiPush
package import KiiPushDelivery
import KiiPushSystem

/// A log line for journald: prefixed with its priority, as `<6>`, and without control characters.
///
/// It contains nothing of a payload: no bucket, topic, object, sender or data, only kinds, outcomes, sizes and names
/// from the rules. It shows reasons of middleware and the texts of `ReportedError`s, as of programs that rules run and
/// of calls of Kii's cloud; of other errors, it shows the type.
package struct JournalLine: Sendable, Hashable, CustomStringConvertible {
    /// The priority of a line, as in syslog.
    package enum Priority: Int, Sendable, Hashable, CaseIterable {
        /// Something was lost or given up, and needs attention.
        case error = 3
        /// Something went wrong and is being handled.
        case warning = 4
        case information = 6
    }

    /// A field with which the journal can be searched: `journalctl KIIPUSH_OUTCOME=deadLettered`.
    package struct Field: Sendable, Hashable {
        /// Its name: capitals and underscores.
        package let name: String
        /// Its value, with control characters escaped.
        package let value: String

        init(_ name: String, _ value: String) { (self.name, self.value) = (name, EscapedText(value).description) }
    }

    package let priority: Priority
    /// The text without the priority; control characters are escaped.
    package let text: String
    package private(set) var fields: [Field] = []
    private var isPrefixed = true

    /// The whole line, without its line end.
    package var description: String { isPrefixed ? "<\(priority.rawValue)>\(text)" : text }

    /// The most bytes of a text before it is escaped; a longer one is cut, so that it does not fill the log's queue.
    static let mostBytes = 8192

    package init(_ priority: Priority, _ text: String) {
        self.priority = priority
        self.text = EscapedText(text.cut(to: Self.mostBytes)).description
    }

    /// Makes a line that is logged as it is, such as an error of a command itself.
    package init(asItIs text: String) { (priority, self.text, isPrefixed) = (.warning, text, false) }

    package init(_ priority: Priority, _ text: String, message id: UInt64) {
        self.init(priority, text)
        fields = [Field("KIIPUSH_MESSAGE", "\(id)")]
    }

    /// How a message ended: `message 12: handled; routes settings; pushToApp, certain; mqtt, 227 bytes; 3.1 ms`.
    ///
    /// Failed and undecodable messages are warnings; dead-lettered ones are errors, with the cause of the last
    /// failure. Beyond the first attempt, the line gives its number.
    package init(_ trace: Trace) {
        let cause = trace.outcome.name == "deadLettered" ? trace.cause.map { ": \($0)" } ?? "" : ""
        var parts = ["message \(trace.messageID): \(Self.words(trace.outcome))\(cause)"]
        if let number = trace.deadLetter { parts.append("dead letter \(number)") }
        if let attempt = trace.lastAttempt, attempt > 1 { parts.append("attempt \(attempt)") }
        if !trace.routes.isEmpty {
            let shown = trace.routes.prefix(8).map(Suggestion.shown).joined(separator: ", ")
            let more = trace.routes.count > 8 ? " and \(trace.routes.count - 8) more" : ""
            parts.append("\(trace.routes.count == 1 ? "route" : "routes") \(shown)\(more)")
        }
        if !trace.expired.isEmpty, trace.outcome.name != "expired" {
            parts.append("too old for \(trace.expired.prefix(8).map(Suggestion.shown).joined(separator: ", "))")
        }
        if !trace.expired.isEmpty, let doubt = trace.message?.sentAt?.doubtOfUnit { parts.append(doubt) }
        if let message = trace.message {
            let format = message.format.map { ", \($0)" } ?? ""
            parts.append("\(message.kind.rawValue), \(message.certainty.rawValue)\(format)")
        }
        let carrier = trace.transport.map { Suggestion.shown($0.name) }
        let size = trace.message.map { counted($0.raw.bytes.count, "byte") }
        let carried = [carrier, size].compactMap { $0 }.joined(separator: ", ")
        if !carried.isEmpty { parts.append(carried) }
        parts.append(Self.text(.nanoseconds(trace.nanoseconds)))
        self.init(Priority(trace.outcome), parts.joined(separator: "; "))
        fields = Self.fields(trace)
    }

    package init(_ event: ServiceEvent) {
        func field(_ event: String) -> Field { Field("KIIPUSH_EVENT", event) }
        func fields(_ id: UInt64, _ route: String) -> [Field] {
            [Field("KIIPUSH_MESSAGE", "\(id)"), Field("KIIPUSH_ROUTE", route)]
        }
        switch event {
        case .retry(let id, let route, let attempt, let pause, let cause):
            self.init(
                .warning,
                "message \(id): attempt \(attempt) failed (\(cause)); route \(Suggestion.shown(route)); again in "
                    + Self.text(pause))
            self.fields =
                [field("retry")] + fields(id, route)
                + [Field("KIIPUSH_ATTEMPT", "\(attempt)"), Field("KIIPUSH_CAUSE", cause)]
        case .overrun(let id, let route, let isLeft):
            let what = isLeft ? "did not return after it was cancelled, and is left" : "took too long and is cancelled"
            self.init(isLeft ? .error : .warning, "message \(id): the handler of \(Suggestion.shown(route)) \(what)")
            self.fields = [field(isLeft ? "left" : "overrun")] + fields(id, route)
        case .storeFailed(let what):
            self.init(.error, what)
            self.fields = [field("storeFailed")]
        case .notDurable(let what):
            self.init(.warning, what)
            self.fields = [field("notDurable")]
        case .recovering(let messages):
            let lead = "the last process ended while it handled \(counted(messages, "message"))"
            self.init(.warning, "\(lead): run first, one at a time, while all others wait")
            self.fields = [field("recovering")]
        case .transport(let name, let event):
            self.init(event, of: Suggestion.shown(name))
            self.fields = [field(event.name), Field("KIIPUSH_TRANSPORT", name)]
        }
    }

    private init(_ event: TransportEvent, of name: String) {
        switch event {
        case .connected(let how): self.init(.information, "\(name): \(how)")
        case .disconnected(let why, let pause):
            self.init(.warning, "\(name): disconnected: \(why); again in \(Self.text(pause))")
        case .refused(let why, let pause):
            self.init(
                .warning, "\(name): refused: \(why); again in \(Self.text(pause)), then with longer pauses")
        case .possibleGap(let why, _): self.init(.error, "\(name): messages may be lost: \(why)")
        case .ignored(let what): self.init(.warning, "\(name): ignored: \(what)")
        }
    }

    private static func fields(_ trace: Trace) -> [Field] {
        var fields = [Field("KIIPUSH_MESSAGE", "\(trace.messageID)"), Field("KIIPUSH_OUTCOME", trace.outcome.name)]
        if let reason = trace.outcome.reason { fields.append(Field("KIIPUSH_REASON", Suggestion.shown(reason))) }
        if let cause = trace.cause { fields.append(Field("KIIPUSH_CAUSE", cause)) }
        if let number = trace.deadLetter { fields.append(Field("KIIPUSH_DEAD_LETTER", "\(number)")) }
        if let attempt = trace.lastAttempt { fields.append(Field("KIIPUSH_ATTEMPT", "\(attempt)")) }
        fields += trace.routes.prefix(8).map { Field("KIIPUSH_ROUTE", $0) }
        if let message = trace.message {
            fields.append(Field("KIIPUSH_KIND", message.kind.rawValue))
            if let format = message.format { fields.append(Field("KIIPUSH_FORMAT", format)) }
            fields.append(Field("KIIPUSH_BYTES", "\(message.raw.bytes.count)"))
        }
        if let transport = trace.transport {
            fields.append(Field("KIIPUSH_NETWORK", Suggestion.shown(transport.name)))
        }
        fields.append(Field("KIIPUSH_WAITED_MS", "\(trace.waitedNanoseconds / 1_000_000)"))
        if !trace.calls.isEmpty { fields.append(Field("KIIPUSH_TOOK_MS", "\(trace.handlingNanoseconds / 1_000_000)")) }
        return fields
    }

    // MARK: Texts

    private static func words(_ outcome: Outcome) -> String {
        let reason = outcome.reason.map { " (\(Suggestion.shown($0)))" } ?? ""
        let what =
            switch outcome {
            case .failed(let failure): ": \(ErrorReport.text(failure.error))"
            case .undecodable(let error): " at byte \(error.offset): \(error.detail)"
            default: ""
            }
        return outcome.name + reason + what
    }

    private static func text(_ time: Duration) -> String { Figures.time(time / .milliseconds(1)) }
}

extension JournalLine.Priority {
    /// The priority of a line about a message with this outcome.
    package init(_ outcome: Outcome) {
        self =
            switch outcome {
            case .deadLettered, .quarantined: .error
            case .failed, .undecodable: .warning
            case .handled, .duplicate, .looped, .paced, .superseded, .expired, .refused, .unrouted: .information
            @unknown default: .information
            }
    }
}

extension TransportEvent {
    /// Its name in records.
    var name: String {
        switch self {
        case .connected: "connected"
        case .disconnected: "disconnected"
        case .refused: "refused"
        case .possibleGap: "possibleGap"
        case .ignored: "ignored"
        }
    }
}
