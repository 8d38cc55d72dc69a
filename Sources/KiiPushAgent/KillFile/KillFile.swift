import CLibrary
package import KiiPush
package import KiiPushRules
package import KiiPushSystem

/// The file `kill.json`, with which other programs switch off routes, buckets or everything.
///
/// `{"version":1,"kills":[{"target":"settings","until":"2026-11-21T12:00:00Z"}]}`: `KillTarget.init(_:)` parses a
/// target, and a time is in RFC 3339. The tool writes it, or an editor; a program obeys it with a ``KillFileWatch``. A
/// missing file, or one with only white space, has no kills.
package struct KillFile: Sendable, Hashable {
    /// The size limit of a kill file, 64 KiB: about a thousand kills.
    package static let largestSize = 65_536

    static let name = "kill.json"

    package let path: String

    /// How long an edit waits for another program's edit to end.
    let lockLimit: Duration

    package init(path: String, lockLimit: Duration = .seconds(5)) { (self.path, self.lockLimit) = (path, lockLimit) }

    package init(directory: String) {
        self.init(path: directory.hasSuffix("/") ? "\(directory)\(Self.name)" : "\(directory)/\(Self.name)")
    }

    /// Reads the file; a missing one has no kills, and a bad entry is a problem that does not affect the others.
    ///
    /// - Throws: ``KillFileError`` if the file cannot be read, or is not a kill file as a whole.
    package func read() throws(KillFileError) -> KillFileText {
        let bytes: [UInt8]
        do throws(ReadError) { bytes = try ByteReader(regularFile: path).readAll(limit: Self.largestSize) } catch {
            guard case .unreadable(_, let number) = error, number.rawValue == ENOENT else { throw .unreadable(error) }
            bytes = []
        }
        return try KillFileText(bytes, path: path)
    }

    // MARK: Editing

    package struct Edit: Sendable, Hashable {
        /// The target's end before the edit; nil if it was on.
        package let before: UTCDate?
        /// The target's end now; nil if it is on.
        package let after: UTCDate?
        /// The problems that the file had before; it has none now.
        package let problems: [RulesError.Problem]
    }

    /// Switches a target off until a time; a later existing end stays.
    ///
    /// The file is replaced as a whole, with mode 0600, so that a reader sees the old or the new one. A symbolic link
    /// of this user or root stays, and the file that it names is replaced. Two programs that edit at once wait for one
    /// another, with a lock on the file `kill.json.lock` beside it, which stays. Expired kills are dropped, and so is
    /// what cannot be read.
    ///
    /// - Throws: ``KillFileError``; nothing has changed then, except after an error of the disk itself.
    @discardableResult
    package func kill(_ target: KillTarget, until end: UTCDate, now: UTCDate = .now) throws(KillFileError) -> Edit {
        try edit(target, now) { before in max(before ?? end, end) }
    }

    /// Switches a target on again, as ``kill(_:until:now:)`` switches it off.
    @discardableResult
    package func revive(_ target: KillTarget, now: UTCDate = .now) throws(KillFileError) -> Edit {
        try edit(target, now) { _ in nil }
    }

    private func edit(
        _ target: KillTarget, _ now: UTCDate, _ newEnd: (UTCDate?) -> UTCDate?
    ) throws(KillFileError) -> Edit {
        let lock = try takeLock()
        defer { lock.unlock() }
        let contents = try read()
        var kills = contents.kills.filter { $0.value > now }
        let before = kills[target]
        kills[target] = newEnd(before)
        let text = Self.text(kills)
        guard text.utf8.count <= Self.largestSize else { throw .full(path: path) }
        do throws(ErrorNumber) { try replaceFile(path, with: text) } catch { throw .unwritable(path: path, error) }
        return Edit(before: before, after: kills[target], problems: contents.problems)
    }

    private static func text(_ kills: [KillTarget: UTCDate]) -> String {
        let lines = kills.map { (target: $0.key.description, end: $0.value.shortText) }.sorted { $0 < $1 }.map { kill in
            "\n"
                + JSONWriter.object { writer in
                    writer.member("target", kill.target)
                    writer.member("until", kill.end)
                }
        }
        return #"{"version":1,"kills":["# + lines.joined(separator: ",") + (kills.isEmpty ? "]}\n" : "\n]}\n")
    }

    private func takeLock() throws(KillFileError) -> FileLock {
        do throws(ErrorNumber) { return try FileLock("\(path).lock", limit: lockLimit) } catch {
            throw error.rawValue == EWOULDBLOCK
                ? .locked(path: path, limit: lockLimit) : .unwritable(path: "\(path).lock", error)
        }
    }

    // MARK: Starting over

    /// Moves an unreadable file away, so that a new one can be created; returns its new path.
    ///
    /// It gets the suffix `.broken`, and replaces an earlier one of that name. Its kills then have no effect, also in
    /// a program that kept those that it had read before. A missing or readable file stays, even with bad entries,
    /// because its kills apply. If it throws, nothing has changed.
    @discardableResult
    package func reset() throws(KillFileError) -> String? {
        let lock = try takeLock()
        defer { lock.unlock() }
        do throws(KillFileError) {
            _ = try read()
            return nil
        } catch {
            let kept = "\(path).broken"
            do throws(ErrorNumber) { try renameFile(path, to: kept) } catch { throw .unwritable(path: kept, error) }
            return kept
        }
    }
}

/// Why a kill file was not read or not written.
package enum KillFileError: Error, Sendable, Hashable {
    /// It cannot be opened or read, is no regular file, or has more than ``KillFile/largestSize`` bytes.
    case unreadable(ReadError)
    /// It is not a kill file, so none of its kills are known.
    case malformed(RulesError.Problem)
    /// It cannot be written; its old contents are unchanged.
    case unwritable(path: String, ErrorNumber)
    /// Another program kept the lock too long; nothing has changed.
    case locked(path: String, limit: Duration)
    /// One more kill would exceed ``KillFile/largestSize`` bytes; nothing has changed.
    case full(path: String)
}

extension KillFileError: CustomStringConvertible {
    private static let wayOut =
        "remove it or repair it; 'kiipush kill --reset' renames it to \(KillFile.name).broken and starts with no kills"

    package var description: String {
        switch self {
        case .unreadable(.unreadable(let path, let number)):
            "\(EscapedText(path)): cannot be read: \(number)\(number.advice)"
        case .unreadable(let error): "\(error); \(Self.wayOut)"
        case .malformed(let problem): "\(problem); \(Self.wayOut)"
        case .unwritable(let path, let number): "\(EscapedText(path)): cannot be written: \(number)\(number.advice)"
        case .locked(let path, let limit):
            "\(EscapedText(path)): another program has kept it locked for \(limit); nothing was changed"
        case .full(let path):
            "\(EscapedText(path)): it would have more than \(KillFile.largestSize) bytes; revive something first"
        }
    }
}
