#if SQLite
import CLibrary
import KiiPush
import KiiPushSystem

/// A damaged database was set aside, and a new one was started with its readable contents.
///
/// For handlers this means: messages may have been lost, or may be handled a second time.
public struct DatabaseHealing: Sendable, Hashable {
    /// The reason for healing.
    @nonexhaustive
    public enum Cause: String, Sendable, Hashable, CaseIterable {
        /// SQLite could not read it, or found it inconsistent.
        case damaged
        /// It was empty or missing, though a database had existed.
        case emptied
    }

    /// The contents recovered from a table.
    public struct Saved: Sendable, Hashable {
        /// The number of recovered rows.
        public let rows: Int
        /// Whether the whole table could be read; if not, the number of missing rows is unknown.
        public let isWhole: Bool

        init(rows: Int = 0, isWhole: Bool = false) {
            self.rows = rows
            self.isWhole = isWhole
        }
    }

    /// The path of the old file, with its `-wal` beside it.
    public let damagedPath: String
    /// The reason for healing.
    public let cause: Cause
    /// The recovered messages that had not ended.
    public let inbox: Saved
    /// The recovered dead letters.
    public let deadLetters: Saved
    /// The recovered deduplication entries.
    public let seen: Saved
    /// Whether nothing has been accepted since: it was healed at this start, or at an earlier one that ended before its
    /// loss could be recorded.
    public internal(set) var isNew = true
    /// The last number that the inbox had assigned by then; nil if an older release healed it.
    var lastPayload: Int64?

    /// What may be missing, in words; nil if every table could be read completely.
    public var missing: String? {
        let parts = [
            (inbox, "messages that had not ended"), (deadLetters, "dead letters"),
            (seen, "what is known to be done, so that a message may be handled again"),
        ].filter { !$0.0.isWhole }.map(\.1)
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}

extension DatabaseHealing: CustomStringConvertible {
    /// The reason, the recovered and missing contents, and the old file's path; one line for people.
    public var description: String {
        let what = cause == .emptied ? "was empty or missing, though a database had been there" : "was damaged"
        let lost = missing.map { "what may be missing: \($0)" } ?? "every table could be read to its end"
        return "the state \(what); saved: \(counted(inbox.rows, "message")) that had not ended, "
            + "\(counted(deadLetters.rows, "dead letter")), \(counted(seen.rows, "message")) known as done; \(lost); "
            + "the old file is now \(EscapedText(damagedPath)), remove it when you no longer need it"
    }
}
#endif
