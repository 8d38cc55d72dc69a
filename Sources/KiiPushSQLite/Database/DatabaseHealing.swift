#if SQLite
import CLibrary
import KiiPush
import KiiPushSystem

/// A damaged database was set aside, and a new one was started with its readable contents.
///
/// For handlers this means: messages may have been lost, or may be handled a second time.
public struct DatabaseHealing: Sendable, Hashable, CustomStringConvertible {
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

    /// The reason, the recovered and missing contents, and the old file's path; one line for people.
    public var description: String {
        let what = cause == .emptied ? "was empty or missing, though a database had been there" : "was damaged"
        let lost = missing.map { "what may be missing: \($0)" } ?? "every table could be read to its end"
        return "the state \(what); saved: \(counted(inbox.rows, "message")) that had not ended, "
            + "\(counted(deadLetters.rows, "dead letter")), \(counted(seen.rows, "message")) known as done; \(lost); "
            + "the old file is now \(EscapedText(damagedPath)), remove it when you no longer need it"
    }
}

/// A small file beside a database: records that it existed, and the progress of a healing.
enum DatabaseMarker: Hashable {
    /// A valid database existed.
    case made
    /// It is being set aside under this name; its contents are still to be recovered.
    case healing(aside: String, DatabaseHealing.Cause)
    /// Its readable contents were recovered; the new database is in place, or about to be moved there.
    case healed(DatabaseHealing)

    static func path(_ database: String) -> String { "\(database).made" }

    /// Reads the marker of a database; nil if there is none.
    static func read(_ database: String) throws(SQLiteError) -> DatabaseMarker? {
        let path = path(database)
        do throws(ReadError) {
            let bytes = try ByteReader(regularFile: path).readAll(limit: 4096)
            let line = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
            // Any other content still proves that a database existed.
            return DatabaseMarker(line, database) ?? .made
        } catch {
            guard case .unreadable(_, let number) = error else { throw .notAFile(path: path) }
            if number.rawValue == ENOENT { return nil }
            throw .cannotOpen(path: path, number)
        }
    }

    /// Writes the marker, on disk when it returns.
    func write(_ database: String) throws(SQLiteError) {
        let path = Self.path(database)
        do throws(ErrorNumber) { try replaceFile(path, with: line + "\n") } catch {
            throw [ENOSPC, EDQUOT].contains(error.rawValue) ? .full(path: path) : .cannotOpen(path: path, error)
        }
    }

    /// For example `healed kiipush.db.damaged-20261122T120000Z damaged 12 partial 3 whole 200 whole 4711`.
    private var line: String {
        switch self {
        case .made: return "made"
        case .healing(let aside, let cause): return "healing \(aside) \(cause.rawValue)"
        case .healed(let healing):
            let saved = [healing.inbox, healing.deadLetters, healing.seen].map {
                "\($0.rows) \($0.isWhole ? "whole" : "partial")"
            }
            let name = healing.damagedPath.split(separator: "/").last ?? ""
            let last = healing.lastPayload.map { " \($0)" } ?? ""
            return "healed \(name) \(healing.cause.rawValue) \(saved.joined(separator: " "))\(last)"
        }
    }

    private init?(_ line: String, _ database: String) {
        let words = line.split(separator: " ").map(String.init)
        guard words.count >= 3, let cause = DatabaseHealing.Cause(rawValue: words[2]),
            words[1].hasPrefix("\(SQLiteDatabase.fileName).\(DatabaseHealer.infix)"), !words[1].contains("/")
        else { return nil }
        switch (words[0], words.count) {
        case ("healing", 3): self = .healing(aside: words[1], cause)
        case ("healed", 9...10):
            let saved = [3, 5, 7].map {
                DatabaseHealing.Saved(rows: Int(words[$0]) ?? 0, isWhole: words[$0 + 1] == "whole")
            }
            self = .healed(
                DatabaseHealing(
                    damagedPath: "\(database.dropLast(SQLiteDatabase.fileName.count))\(words[1])", cause: cause,
                    inbox: saved[0], deadLetters: saved[1], seen: saved[2], isNew: false,
                    lastPayload: words.count == 10 ? Int64(words[9]) : nil))
        default: return nil
        }
    }
}
#endif
