import Glibc
public import KiiPush

/// The file by which somebody outside a program switches off routes, buckets or everything: `kill.json`.
///
/// `{"version":1,"kills":[{"target":"settings","until":"2026-11-21T12:00:00Z"}]}`: a target is what
/// `KillTarget.init(_:)` reads, a time is RFC 3339. The tool writes it, and so may an editor; a program obeys
/// it with a ``KillFileWatch``. A missing file is one without kills, and so is one with nothing but white space in it.
public struct KillFile: Sendable, Hashable {
    /// The most bytes that a kill file may have, 64 KiB: about a thousand kills.
    public static let largestSize = 65_536

    /// The file's name in a state directory.
    static let name = "kill.json"

    /// The file's path.
    public let path: String

    /// For how long an edit waits for another program's edit to end.
    let lockLimit: Duration

    /// Names a file, which need not exist.
    public init(path: String) { self.init(path: path, lockLimit: .seconds(5)) }

    /// Names the file `kill.json` of a state directory.
    public init(directory: String) {
        self.init(path: directory.hasSuffix("/") ? "\(directory)\(Self.name)" : "\(directory)/\(Self.name)")
    }

    init(path: String, lockLimit: Duration) {
        self.path = path
        self.lockLimit = lockLimit
    }

    /// What a kill file says.
    public struct Contents: Sendable, Hashable {
        /// The targets with their ends, those that are over included.
        public let kills: [KillTarget: UTCDate]
        /// What is wrong with single entries, which switch nothing off, or with keys that nobody knows.
        public let problems: [KillFileProblem]
    }

    /// Reads the file.
    ///
    /// One bad entry hides no good one: it is among the problems.
    ///
    /// - Returns: the kills; none when there is no file.
    /// - Throws: ``KillFileError`` when the file cannot be read, or is no kill file as a whole.
    public func read() throws(KillFileError) -> Contents {
        let text = try readText()
        return Contents(kills: text.kills, problems: text.problems)
    }

    private func readText() throws(KillFileError) -> KillFileText {
        guard !path.utf8.contains(0) else { throw .unreadable(unreadable(EINVAL)) }
        // Without blocking, or a pipe in the file's place would hold up the program for ever.
        let descriptor = retrying { unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) }
        guard descriptor >= 0 else {
            if errno == ENOENT { return KillFileText(path: path) }
            throw .unreadable(unreadable(errno))
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .unreadable(unreadable(errno)) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path: path) }
        let bytes: [UInt8]
        do throws(ReadError) {
            bytes = try ByteReader(descriptor: descriptor, name: path).readAll(limit: Self.largestSize)
        } catch {
            throw .unreadable(error)
        }
        return try KillFileText(bytes, path: path)
    }

    private func unreadable(_ number: Int32) -> ReadError {
        .unreadable(name: path, ErrorNumber(rawValue: number))
    }

    // MARK: Editing

    /// What an edit changed.
    public struct Edit: Sendable, Hashable {
        /// When the target would have been on again before the edit; nil when it was not off.
        public let before: UTCDate?
        /// When it is on again now; nil when it is not off.
        public let after: UTCDate?
        /// What is still wrong with the file, with places in it as it is now.
        public let problems: [KillFileProblem]
    }

    /// Switches a target off until a time; a later end that it has already stays.
    ///
    /// The file is replaced as a whole, with mode 0600, so that a reader sees the old one or the new one; a symbolic
    /// link in its place is replaced too. Two programs that edit at once wait for one another, by a lock on the file
    /// `kill.json.lock` beside it, which stays. Kills that are over are dropped; what cannot be read stays as it is.
    ///
    /// - Parameters:
    ///   - target: what to switch off.
    ///   - end: when it is on again.
    ///   - now: the time by the wall clock.
    /// - Returns: the ends before and after.
    /// - Throws: ``KillFileError``; nothing has changed then, but for a failure of the disk itself.
    @discardableResult
    public func kill(_ target: KillTarget, until end: UTCDate, now: UTCDate = .now) throws(KillFileError) -> Edit {
        try edit(target, now) { before in max(before ?? end, end) }
    }

    /// Switches a target on again; an entry for it whose time cannot be read goes too.
    ///
    /// - Parameters:
    ///   - target: what to switch on.
    ///   - now: the time by the wall clock.
    /// - Returns: the end that it had.
    /// - Throws: as ``kill(_:until:now:)`` does.
    @discardableResult
    public func revive(_ target: KillTarget, now: UTCDate = .now) throws(KillFileError) -> Edit {
        try edit(target, now) { _ in nil }
    }

    private func edit(
        _ target: KillTarget, _ now: UTCDate, _ newEnd: (UTCDate?) -> UTCDate?
    ) throws(KillFileError) -> Edit {
        let lock = try takeLock()
        defer { lock.unlock() }
        var text = try readText()
        text.dropEnded(at: now)
        let before = text.kills[target]
        let after = newEnd(before)
        text.set(target, until: after)
        let written = Array(text.text.utf8)
        guard written.count <= Self.largestSize else { throw .full(path: path) }
        do throws(ErrorNumber) { try replaceFile(path, with: text.text) } catch {
            throw .unwritable(path: path, error)
        }
        return Edit(before: before, after: after, problems: try KillFileText(written, path: path).problems)
    }

    private func takeLock() throws(KillFileError) -> FileLock {
        guard !path.utf8.contains(0) else { throw .unwritable(path: path, ErrorNumber(rawValue: EINVAL)) }
        do throws(ErrorNumber) { return try FileLock("\(path).lock", limit: lockLimit) } catch {
            throw error.rawValue == EWOULDBLOCK
                ? .locked(path: path, limit: lockLimit) : .unwritable(path: "\(path).lock", error)
        }
    }

    // MARK: Beginning anew

    /// Puts a file out of the way that cannot be read as a whole, so that there can be a new one.
    ///
    /// It gets `.broken` behind its name, in place of one that was put there before. None of its kills counts any more,
    /// also in a program that went on with those that it had read before. A file that can be read stays, even with bad
    /// entries, for its kills count.
    ///
    /// - Returns: where the file is now; nil when there is none, or one that can be read.
    /// - Throws: ``KillFileError/unwritable(path:_:)`` or ``KillFileError/locked(path:limit:)``; nothing has changed
    ///   then.
    @discardableResult
    package func reset() throws(KillFileError) -> String? {
        let lock = try takeLock()
        defer { lock.unlock() }
        do throws(KillFileError) {
            _ = try readText()
            return nil
        } catch {
            let kept = "\(path).broken"
            guard unsafe rename(path, kept) == 0 else { throw .unwritable(path: kept, .current) }
            return kept
        }
    }
}
