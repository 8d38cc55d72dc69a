import CLibrary
import KiiPush
import KiiPushSystem

struct ProgramRun: Sendable {
    let vector: [String]
    let name: String
    let stamp: String
    let input: [UInt8]
    let grace: Duration
    let starts: ProgramStarts
    let guardian: ProgramGuardian

    /// Runs it, and blocks until it has ended, or the signal ends it.
    ///
    /// - Throws: ``ProgramError``; ``ProgramShortage``; why an announced write is refused.
    func untilEnd(_ words: inout ProgramWords, _ signal: ThreadSignal) throws {
        var stop = Stop()
        let end: ChildProcess.End
        var isStarted = false
        do throws(ErrorNumber) {
            var streams = try ProgramStreams(input: input)
            guardian.prepare()
            let process = try RunningProcess(
                vector,
                .init(
                    streams: streams.theirs, variables: ["KIIPUSH_STAMP": stamp], hidden: ServiceManager.variables,
                    isGroup: true))
            isStarted = true
            guardian.began(process.id)
            streams.closeTheirs()
            starts.succeeded()
            serve(process, &streams, &words, signal, &stop)
            // Until it is reaped, its group id cannot be reused.
            if stop.hasBegun { process.send(SIGKILL) }
            guardian.ended(process.id)
            end = try process.reap()
            stop.attempt { try streams.drain(&words) }
        } catch {
            if !isStarted, let shortage = starts.failed(name, error) { throw shortage }
            throw ProgramError(vector.first ?? "", error, name: name)
        }
        if let refusal = stop.refusal { throw refusal }
        let said = words.lastErrors
        if stop.hasBegun { throw ProgramError.stopped(program: name, said: said) }
        if let error = ProgramError(end, program: name, said: said) { throw error }
    }

    private func serve(
        _ process: borrowing RunningProcess, _ streams: inout ProgramStreams, _ words: inout ProgramWords,
        _ signal: ThreadSignal, _ stop: inout Stop
    ) {
        while true {
            var polled = [
                pollfd(fd: process.endDescriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: signal.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            polled += streams.polled
            pollAll(&polled, for: stop.left)
            if polled[0].revents != 0 { return }
            if polled[1].revents != 0 { signal.clear() }
            stop.attempt { try streams.serve(polled[2...], &words) }
            if signal.hasEnded || stop.refusal != nil, !stop.hasBegun {
                process.send(SIGTERM)
                stop.killAt = .now + grace
            } else if let time = stop.killAt, time <= .now {
                process.send(SIGKILL)
                stop.killAt = nil
            }
        }
    }

    /// Why the program is being ended, and since when.
    private struct Stop {
        /// Why an announced write is refused.
        var refusal: (any Error)?
        /// When it gets SIGKILL; nil if it has already got it.
        var killAt: ContinuousClock.Instant? { didSet { hasBegun = true } }
        private(set) var hasBegun = false

        /// The longest time to wait for the program.
        var left: Duration? { killAt.map { max(ContinuousClock.now.duration(to: $0), .zero) } }

        mutating func attempt(_ work: () throws -> Void) {
            do { try work() } catch { refusal = refusal ?? error }
        }
    }
}

struct ProgramStreams: ~Copyable {
    private var input: ProgramPipe
    private var output: ProgramPipe
    private var errors: ProgramPipe
    private var unsent: ArraySlice<UInt8>
    private var outputLines = LineSplitter(limit: ProgramWords.longestLine)
    private var errorLines = LineSplitter(limit: ProgramWords.longestLine)
    private var buffer = [UInt8](repeating: 0, count: 16_384)

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

    var theirs: [Int32] { [input.readEnd, output.writeEnd, errors.writeEnd] }

    /// Closes the program's ends, after it has inherited them.
    mutating func closeTheirs() {
        input.closeReadEnd()
        output.closeWriteEnd()
        errors.closeWriteEnd()
    }

    var polled: [pollfd] {
        [
            pollfd(fd: input.writeEnd, events: Int16(POLLOUT), revents: 0),
            pollfd(fd: output.readEnd, events: Int16(POLLIN), revents: 0),
            pollfd(fd: errors.readEnd, events: Int16(POLLIN), revents: 0),
        ]
    }

    /// Writes and reads once, where the system reports readiness; throws why an announced write is refused.
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

    /// Reads the output from before the program ended, and throws why an announced write is refused.
    ///
    /// Not more than its pipes hold: processes that it left may still write.
    mutating func drain(_ words: inout ProgramWords) throws {
        let most = 64
        for _ in 0..<most where !readErrors(&words) { break }
        if let line = errorLines.finish() { words.error(line) }
        for _ in 0..<most where try !readOutput(&words) { break }
        if let line = outputLines.finish() { try words.output(line, outputLines.tooLongStart) }
    }
}
