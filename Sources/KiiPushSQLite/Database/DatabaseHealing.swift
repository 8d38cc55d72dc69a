#if SQLite
import Glibc
import KiiPush
import KiiPushLinux

/// A damaged database was set aside, and a new one was started with its readable contents.
///
/// What a handler has to know of it is that messages may have been lost, or be handled a second time.
public struct DatabaseHealing: Sendable, Hashable {
    /// What was wrong.
    public enum Cause: String, Sendable, Hashable, CaseIterable {
        /// SQLite could not read it, or found it unsound.
        case damaged
        /// It was empty or missing, though a database had been there.
        case emptied
    }

    /// What was saved of a table.
    public struct Saved: Sendable, Hashable {
        /// How many rows the new database has of it.
        public let rows: Int
        /// Whether it could be read to its end; if not, nobody knows how many are missing.
        public let isWhole: Bool

        init(rows: Int = 0, isWhole: Bool = false) {
            self.rows = rows
            self.isWhole = isWhole
        }
    }

    /// The path of the old file, with its `-wal` beside it.
    public let damagedPath: String
    /// What was wrong with it.
    public let cause: Cause
    /// What was saved of the messages that had not ended.
    public let inbox: Saved
    /// The dead letters that were saved.
    public let deadLetters: Saved
    /// What was saved of what is known to be done.
    public let seen: Saved
    /// Whether it was healed just now, and not at an earlier start.
    public internal(set) var isNew = true

    /// What may be missing, in words; nil when every table could be read to its end.
    public var missing: String? {
        let parts = [
            (inbox, "messages that had not ended"), (deadLetters, "dead letters"),
            (seen, "what is known to be done, so that a message may be handled again"),
        ].filter { !$0.0.isWhole }.map(\.1)
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}

extension DatabaseHealing: CustomStringConvertible {
    /// What was wrong, what was saved, what may be missing and where the old file is; one line for a person.
    public var description: String {
        let what = cause == .emptied ? "was empty or missing, though a database had been there" : "was damaged"
        let lost = missing.map { "what may be missing: \($0)" } ?? "every table could be read to its end"
        return "the state \(what); saved: \(counted(inbox.rows, "message")) that had not ended, "
            + "\(counted(deadLetters.rows, "dead letter")), \(counted(seen.rows, "message")) known as done; \(lost); "
            + "the old file is now \(EscapedText(damagedPath)), remove it when you no longer need it"
    }
}
#endif
