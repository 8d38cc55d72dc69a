import KiiPush
import KiiPushSystem

/// A program's output while it runs: announcements of writes, and lines for the log.
struct ProgramWords {
    /// The size limit of a line, and of the part of all lines that is passed to the log.
    static let longestLine = 4096
    static let mostBytes = 65_536
    static let mostWrites = 1000

    private let name: String
    private let context: HandlerContext
    private let app: String?
    private let log: @Sendable (String) -> Void
    private let note: @Sendable (String) -> Void
    private var writes: [OwnWrite] = []
    private var announced = 0
    private var bytes = 0
    private var tail: [String] = []

    /// `log` receives standard error and errors in announcements, `note` everything else.
    init(
        _ name: String, _ context: HandlerContext, app: String?, log: @escaping @Sendable (String) -> Void,
        note: @escaping @Sendable (String) -> Void
    ) { (self.name, self.context, self.app, self.log, self.note) = (name, context, app, log, note) }

    /// A program's name in reports: the file's name, without directories.
    static func name(of vector: [String]) -> String {
        vector.first.map { String(decoding: $0.utf8.reversed().prefix { $0 != slash }.reversed(), as: UTF8.self) } ?? ""
    }

    private static let slash = UInt8(ascii: "/")
    private static let announcements = ["write kiicloud://", "delete kiicloud://"]

    /// Processes a line of standard output, and throws why its write is refused; of one too long, the start is known.
    mutating func output(_ line: InputLine, _ start: [UInt8]) throws {
        guard case .bytes(let bytes, _) = line else {
            // An earlier answer must not count in the place of one that is too long.
            if start.starts(with: Self.answer.utf8) { try context.answer(.failed("the program's answer is too long")) }
            return say(line, note)
        }
        if bytes.starts(with: Self.answer.utf8) {
            return try answer(String(validating: bytes.dropFirst(Self.answer.utf8.count), as: UTF8.self))
        }
        guard let announcement = Self.announcements.first(where: { bytes.starts(with: $0.utf8) }) else {
            return say(line, note)
        }
        let isDeletion = announcement == Self.announcements[1]
        let verb = isDeletion ? "delete " : "write "
        let text = String(validating: bytes.dropFirst(verb.utf8.count), as: UTF8.self)
        let uri = text.flatMap { KiiURI(String($0.reversed().drop { $0 == " " }.reversed())) }
        guard let uri, let bucket = uri.bucket, !isDeletion || uri.object != nil else {
            let places = isDeletion ? "an object" : "an object or a bucket"
            return say("the announcement is not a URI of \(places); a line is: \(announcement)…", log)
        }
        // Events of another app's objects do not arrive here.
        if let app, let other = uri.appID, other != app { return }
        announced += 1
        guard announced <= Self.mostWrites else {
            if announced == Self.mostWrites + 1 { say("more than \(Self.mostWrites) writes cannot be announced", log) }
            return
        }
        if let object = uri.object {
            writes.append(try context.willWrite(object, changing: isDeletion ? .deletion : .fields))
        } else {
            _ = try context.willCreate(in: bucket)
        }
    }

    private static let answer = "answer "
    private static let failed = "failed"

    /// Answers the message's sender: with JSON, or after `failed` with the reason why it cannot be done; a text that is
    /// not UTF-8 is nil.
    private mutating func answer(_ text: String?) throws {
        if let text, text.begins(exactlyWith: Self.failed) {
            let reason = text.droppingFirst(bytes: Self.failed.utf8.count).drop { $0 == " " }
            try context.answer(.failed(reason.isEmpty ? Self.failed : String(reason)))
        } else if let data = text.flatMap({ DataValue(json: $0) }) {
            try context.answer(.succeeded(data))
        } else {
            say("the answer is not JSON; a line is: answer {\"key\": …}, or: answer failed REASON", log)
            try context.answer(.failed("the program's answer cannot be read"))
        }
        if !context.expectsAnswer { say("nobody waits for the answer", log) }
    }

    mutating func error(_ line: InputLine) {
        if case .bytes(let bytes, _) = line {
            tail.append(EscapedText(String(decoding: bytes.prefix(Self.mostTail), as: UTF8.self)).description)
            if tail.count > Self.mostTailLines { tail.removeFirst() }
        }
        say(line, log)
    }

    /// The last lines of its standard error, within the limits of a report.
    var lastErrors: [String] {
        var (lines, left): ([String], Int) = ([], Self.mostTail)
        for line in tail.reversed() where left > 0 {
            lines.append(line.cut(to: left))
            left -= line.utf8.count
        }
        return lines.reversed()
    }

    /// The size limit of standard error in a report.
    private static let mostTail = 512
    private static let mostTailLines = 4

    private mutating func say(_ line: InputLine, _ to: @Sendable (String) -> Void) {
        switch line {
        case .bytes(let bytes, _): say(String(decoding: bytes, as: UTF8.self), to)
        case .tooLong(let number): say("line \(number) is longer than \(Self.longestLine) bytes and is dropped", to)
        }
    }

    /// Passes a line on, unless the limit is reached; our own lines count as the program's, since it causes them.
    private mutating func say(_ text: String, _ to: @Sendable (String) -> Void) {
        guard bytes <= Self.mostBytes else { return }
        bytes += text.utf8.count
        let isTooMuch = bytes > Self.mostBytes
        let words = isTooMuch ? "says more than \(Self.mostBytes) bytes; the rest is dropped" : text
        let attempt = context.attempt > 1 ? "attempt \(context.attempt): " : ""
        to("message \(context.messageID): \(attempt)\(EscapedText(name)): \(EscapedText(words))")
    }

    /// Reports to the loop guard whether the announced writes were made.
    mutating func finish(succeeded: Bool) {
        for write in writes { if succeeded { write.done() } else { write.failed() } }
        writes = []
    }
}
