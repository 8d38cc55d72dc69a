import CLibrary

/// Why a program cannot be started, as its file tells: the system's `ENOENT` may mean its interpreter or its loader.
package struct ProgramProblem: Equatable, Sendable {
    /// The program: its absolute path, or its name if `PATH` has none.
    package let program: String
    /// What is wrong, and how to fix it; nil if there is no such program.
    package let why: String?

    /// One line for people, without the program: "not found on PATH".
    package var text: String { why ?? Self.missing(program) }

    /// What is said of a program that does not exist.
    package static func missing(_ program: String) -> String { isName(program) ? "not found on PATH" : "not found" }

    /// Finds out why a program cannot be started; nil if nothing is wrong with its file, as far as the file tells.
    package static func find(_ program: String) -> ProgramProblem? {
        guard !program.utf8.isEmpty, !program.utf8.contains(0) else { return ProgramProblem(program, nil) }
        let candidates = isName(program) ? searchPath.map { "\($0)/\(program)" } : [absolute(program)]
        // Like the system: the first that may be run, else the first that exists.
        guard let path = candidates.first(where: isRunnable) ?? candidates.first(where: exists) else {
            return ProgramProblem(isName(program) ? program : absolute(program), nil)
        }
        return why(path).map { ProgramProblem(path, $0) }
    }

    /// Finds out why a program could not be started; nil if the error has another cause than its file.
    package static func find(_ program: String, after error: ErrorNumber) -> ProgramProblem? {
        [ENOENT, EACCES, ENOEXEC, ENOTDIR].contains(error.rawValue) ? find(program) : nil
    }

    private init(_ program: String, _ why: String?) { (self.program, self.why) = (program, why) }

    // MARK: Looking for it

    private static func isName(_ program: String) -> Bool { !program.utf8.contains(UInt8(ascii: "/")) }

    private static var searchPath: [String] {
        let path = environmentVariable("PATH") ?? "/bin:/usr/bin"
        return path.split(separator: ":", omittingEmptySubsequences: false).map { $0.isEmpty ? "." : String($0) }
    }

    private static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/"), let folder = unsafe getcwd(nil, 0) else { return path }
        defer { unsafe free(folder) }
        return unsafe "\(String(cString: folder))/\(path.hasPrefix("./") ? String(path.dropFirst(2)) : path)"
    }

    private static func mode(_ path: String) -> mode_t? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_mode : nil
    }

    private static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    private static func isRunnable(_ path: String) -> Bool {
        unsafe access(path, X_OK) == 0 && mode(path).map { $0 & S_IFMT } == S_IFREG
    }

    // MARK: Looking at it

    /// What is wrong with a file; `depth` is how many interpreters may be scripts themselves.
    private static func why(_ path: String, depth: Int = 4) -> String? {
        guard let mode = mode(path) else { return "cannot be examined: \(ErrorNumber.current)" }
        if mode & S_IFMT == S_IFDIR { return "is a directory, not a program" }
        guard mode & S_IFMT == S_IFREG else { return "is not a program file" }
        guard isRunnable(path) else { return "is not executable; run chmod +x on it" }
        // A program that may be run but not read tells nothing more.
        var start = [UInt8](repeating: 0, count: 65_536)
        guard let count = try? ByteReader(regularFile: path).read(into: &start) else { return nil }
        start.removeLast(start.count - count)
        if start.starts(with: "#!".utf8) { return interpreterProblem(start[2...], depth) }
        if start.starts(with: [0x7F] + Array("ELF".utf8)) { return loaderProblem(start) }
        return start.isEmpty
            ? "is empty" : "is neither a script that begins with #! nor a program of this system"
    }

    /// Why the interpreter of a script cannot be started; `text` begins after `#!`.
    private static func interpreterProblem(_ text: ArraySlice<UInt8>, _ depth: Int) -> String? {
        // Linux reads no more of the first line.
        let line = text.prefix(254).prefix { $0 != UInt8(ascii: "\n") }
        let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard let first = words.first else { return "names no interpreter after #!" }
        // An argument that ends with a carriage return is wrong too, as in `#!/usr/bin/env python3`.
        guard line.last != UInt8(ascii: "\r") else {
            return "its first line ends with CR LF, so that its interpreter is not found; end its lines with LF, as "
                + "dos2unix does"
        }
        let name = String(decoding: first, as: UTF8.self)
        guard exists(name) else { return "its interpreter \(EscapedText(name)) does not exist" }
        guard depth > 0, let problem = why(name, depth: depth - 1) else { return nil }
        return "its interpreter \(EscapedText(name)): \(problem)"
    }

    /// Why the loader of an ELF program cannot be started, if the beginning of the file names it.
    private static func loaderProblem(_ start: [UInt8]) -> String? {
        // Of big-endian programs, the system's error is all that is known.
        guard start.count >= 64, [1, 2].contains(start[4]), start[5] == 1 else { return nil }
        let isLong = start[4] == 2
        let table = isLong ? number(start, 32, 8) : number(start, 28, 4)
        let (size, count) = isLong ? (56, number(start, 56, 2)) : (32, number(start, 44, 2))
        let headers = (0..<count).map { table &+ $0 &* size }
        // The program header PT_INTERP.
        guard let header = headers.first(where: { number(start, $0, 4) == 3 }) else { return nil }
        let place = isLong ? number(start, header &+ 8, 8) : number(start, header &+ 4, 4)
        guard (1..<start.count).contains(place), let end = start[place...].firstIndex(of: 0) else { return nil }
        let loader = String(decoding: start[place..<end], as: UTF8.self)
        return exists(loader) ? nil : "its loader \(EscapedText(loader)) does not exist: it is built for another system"
    }

    /// A little-endian number of a header; 0 beyond what was read.
    private static func number(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> Int {
        guard offset >= 0, offset <= bytes.count - count else { return 0 }
        return Int(exactly: bytes[offset..<offset + count].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }) ?? 0
    }
}
