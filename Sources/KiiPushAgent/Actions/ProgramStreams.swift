import CLibrary
import KiiPushSystem

/// A program's input and output, which never block this process.
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

    /// Closes the program's ends, after it has inherited them.
    mutating func closeTheirs() {
        input.closeReadEnd()
        output.closeWriteEnd()
        errors.closeWriteEnd()
    }

    /// The descriptors to poll, three of them.
    var polled: [pollfd] {
        [
            pollfd(fd: input.writeEnd, events: Int16(POLLOUT), revents: 0),
            pollfd(fd: output.readEnd, events: Int16(POLLIN), revents: 0),
            pollfd(fd: errors.readEnd, events: Int16(POLLIN), revents: 0),
        ]
    }

    /// Writes and reads once, where the system reports readiness.
    ///
    /// - Throws: why an announced write is refused.
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
        // A program may close its input unread. After any other error the input must not end early: the program would
        // take a part for the whole.
        if count < 0, errno != EPIPE, errno != EAGAIN { return _ = poll(nil, 0, 10) }
        if unsent.isEmpty || count < 0 && errno == EPIPE { input.closeWriteEnd() }
    }

    /// Whether something was read.
    @discardableResult
    private mutating func readOutput(_ words: inout ProgramWords) throws -> Bool {
        let count = readOnce(output.readEnd, into: &buffer)
        if count > 0 { outputLines.append(buffer[..<count]) }
        if count == 0 { output.closeReadEnd() }
        while let line = outputLines.next() { try words.output(line, outputLines.tooLongStart) }
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

    /// Reads the output from before the program ended; not more than its pipes hold, since processes that it left may
    /// still write.
    ///
    /// - Throws: why an announced write is refused.
    mutating func drain(_ words: inout ProgramWords) throws {
        let most = 64
        for _ in 0..<most where !readErrors(&words) { break }
        if let line = errorLines.finish() { words.error(line) }
        for _ in 0..<most where try !readOutput(&words) { break }
        if let line = outputLines.finish() { try words.output(line, outputLines.tooLongStart) }
    }
}
