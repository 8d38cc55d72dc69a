import Glibc

/// What goes into a program and comes out of it, none of which is ever waited for.
struct ProgramStreams: ~Copyable {
    private var input: ProgramPipe
    private var output: ProgramPipe
    private var errors: ProgramPipe
    private var unsent: ArraySlice<UInt8>
    private var outputLines = LineSplitter(limit: ProgramWords.longestLine)
    private var errorLines = LineSplitter(limit: ProgramWords.longestLine)
    private var buffer = [UInt8](repeating: 0, count: 16_384)

    /// Makes the pipes.
    init(input bytes: [UInt8]) throws(ErrorNumber) {
        let input = try ProgramPipe()
        let output = try ProgramPipe()
        let errors = try ProgramPipe()
        for end in [input.writeEnd, output.readEnd, errors.readEnd] { ProgramPipe.makeNonBlocking(end) }
        self.input = input
        self.output = output
        self.errors = errors
        unsent = bytes[...]
    }

    /// The program's ends.
    var theirs: [Int32] { [input.readEnd, output.writeEnd, errors.writeEnd] }

    /// Closes the program's ends, once it has them.
    mutating func closeTheirs() {
        input.closeReadEnd()
        output.closeWriteEnd()
        errors.closeWriteEnd()
    }

    /// What to wait for, three descriptors.
    var polled: [pollfd] {
        [
            pollfd(fd: input.writeEnd, events: Int16(POLLOUT), revents: 0),
            pollfd(fd: output.readEnd, events: Int16(POLLIN), revents: 0),
            pollfd(fd: errors.readEnd, events: Int16(POLLIN), revents: 0),
        ]
    }

    /// Writes and reads once, where the system says that it can.
    ///
    /// - Throws: why the program may not make a write that it announces.
    mutating func serve(_ polled: ArraySlice<pollfd>, _ words: inout ProgramWords) throws {
        let ready = polled.map { $0.revents != 0 }
        if ready[0] { writeInput() }
        if ready[2] { readErrors(&words) }
        if ready[1] { try readOutput(&words) }
    }

    private mutating func writeInput() {
        let count = unsafe unsent.withUnsafeBytes { bytes in
            retrying { unsafe write(input.writeEnd, bytes.baseAddress, bytes.count) }
        }
        if count > 0 { unsent = unsent.dropFirst(count) }
        // A program that does not want its input is free to close it. For any other reason the input is not to end
        // early: the program would take a part for all.
        if count < 0, errno != EPIPE, errno != EAGAIN { return _ = poll(nil, 0, 10) }
        if unsent.isEmpty || count < 0 && errno == EPIPE { input.closeWriteEnd() }
    }

    /// Whether something was read.
    @discardableResult
    private mutating func readOutput(_ words: inout ProgramWords) throws -> Bool {
        let count = readOnce(output.readEnd, into: &buffer)
        if count > 0 { outputLines.append(buffer[..<count]) }
        if count == 0 { output.closeReadEnd() }
        while let line = outputLines.next() { try words.output(line) }
        return count > 0
    }

    @discardableResult
    private mutating func readErrors(_ words: inout ProgramWords) -> Bool {
        let count = readOnce(errors.readEnd, into: &buffer)
        if count > 0 { errorLines.append(buffer[..<count]) }
        if count == 0 { errors.closeReadEnd() }
        while let line = errorLines.next() { words.error(line) }
        return count > 0
    }

    /// Reads what the program has said before it ended; no more than its pipes hold, for what it left behind may go on.
    ///
    /// - Throws: why the program may not make a write that it announced.
    mutating func drain(_ words: inout ProgramWords) throws {
        let most = 64
        for _ in 0..<most where !readErrors(&words) { break }
        if let line = errorLines.finish() { words.error(line) }
        for _ in 0..<most where try !readOutput(&words) { break }
        if let line = outputLines.finish() { try words.output(line) }
    }
}
