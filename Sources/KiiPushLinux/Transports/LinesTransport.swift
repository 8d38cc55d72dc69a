import Glibc
public import KiiPush
public import KiiPushDelivery

/// Brings payloads that come in as lines, one a line: from standard input, or any other descriptor.
///
/// ```swift
/// let service = PushService(receiver, [LinesTransport(transport: .mqtt)])
/// ```
///
/// So a program in any language hands its payloads over through a pipe. Lines end with LF or CRLF, the last one may end
/// with the input; blank ones are passed over. A line that is longer than the limit is reported by its number, as
/// `TransportEvent.ignored`, and passed over. It ends when the input does and all was taken in.
///
/// It has a thread of its own, which blocks on the descriptor; up to 64 payloads are handed over at once. While the
/// service is full nothing is read. It acknowledges nothing, since nobody would hear it, and what was read comes from
/// nowhere again: what could not be handed over when it was cancelled is reported as `TransportEvent.possibleGap`. An
/// inbox that fails is tried again, with pauses from 100 ms to 10 s.
public struct LinesTransport: PushTransport {
    /// Its name in logs and metrics.
    public let name: String

    /// None: a line is neither answered nor brought again.
    public var abilities: TransportAbilities { [] }

    private let descriptor: Int32
    private let transport: Transport?
    private let limit: Int

    /// Makes a transport; nothing is read before it runs.
    ///
    /// - Parameters:
    ///   - descriptor: where the lines come from, 0 for standard input; it stays open. Nobody else may read from it
    ///     meanwhile.
    ///   - transport: the network that the payloads came over, where it is known.
    ///   - limit: the most bytes of a line, its end not counted; that of the receiver's payloads.
    ///   - name: its name in logs and metrics.
    public init(
        descriptor: Int32 = 0, transport: Transport? = nil, limit: Int = PayloadLimits.standard.bytes,
        name: String = "stdin"
    ) {
        self.descriptor = descriptor
        self.transport = transport
        self.limit = limit
        self.name = name
    }

    /// Hands over line by line until the input ends or the task is cancelled.
    ///
    /// - Throws: ``ReadError`` when the descriptor cannot be read.
    public func run(_ intake: PushIntake) async throws {
        let signal: ThreadSignal
        do throws(ErrorNumber) { signal = try ThreadSignal() } catch { throw ReadError.unreadable(name: name, error) }
        try await withTaskCancellationHandler {
            try await withThread { [self] in
                var reading = LinesReading(descriptor, transport, LineSplitter(limit: limit), intake, signal)
                return Result { () throws(ErrorNumber) in try reading.run() }
            }.mapError { ReadError.unreadable(name: name, $0) }.get()
        } onCancel: {
            signal.end()
        }
    }
}

/// What the thread of a ``LinesTransport`` does.
private struct LinesReading {
    private let descriptor: Int32
    private let transport: Transport?
    private let signal: ThreadSignal
    private var splitter: LineSplitter
    private var intake: BatchedIntake
    private var buffer = [UInt8](repeating: 0, count: 65_536)
    private var lag = ReadLag()
    /// What was read and not yet handed over, at most a batch.
    private var waiting: [RawPayload] = []
    private var inputHasEnded = false

    init(
        _ descriptor: Int32, _ transport: Transport?, _ splitter: LineSplitter, _ intake: PushIntake,
        _ signal: ThreadSignal
    ) {
        self.descriptor = descriptor
        self.transport = transport
        self.splitter = splitter
        self.intake = BatchedIntake(intake, signal)
        self.signal = signal
    }

    mutating func run() throws(ErrorNumber) {
        while !signal.hasEnded {
            gather()
            if waiting.isEmpty {
                if inputHasEnded { return }
                try read()
            } else if !handOver() {
                break
            }
        }
        tellOfLoss()
    }

    /// Takes whole lines out of what was read.
    private mutating func gather() {
        let isBehind = lag.isBehind(.now)
        while waiting.count < BatchedIntake.largestBatch {
            guard let line = splitter.next() ?? (inputHasEnded ? splitter.finish() : nil) else { return }
            switch line {
            case .bytes(let bytes, _):
                waiting.append(RawPayload(bytes, transport: transport, hasWaited: isBehind))
            case .tooLong(let number):
                intake.intake.report(.ignored("line \(number) is longer than the limit of a payload"))
            }
        }
    }

    /// Waits for input and reads what there is.
    private mutating func read() throws(ErrorNumber) {
        var polled = [
            pollfd(fd: signal.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        ]
        let start = ContinuousClock.now
        pollAll(&polled, for: nil)
        lag.polled(start, .now, isReady: polled[1].revents & Int16(POLLIN) != 0)
        if polled[0].revents != 0 { signal.clear() }
        guard polled[1].revents != 0, !signal.hasEnded else { return }
        let count = readOnce(descriptor, into: &buffer)
        if count > 0 {
            splitter.append(buffer[..<count])
        } else if count == 0 {
            inputHasEnded = true
        } else if errno != EAGAIN {
            throw .current
        }
    }

    /// Hands over what waits, or waits for room; false when the service takes no more.
    private mutating func handOver() -> Bool {
        switch intake.wait {
        case .none: break
        case .upTo(let time):
            sleep(time)
            return true
        case .untilSignal:
            sleep(nil)
            return true
        }
        do throws(IntakeRefusal) {
            waiting.removeFirst(try intake.submit(waiting).count)
        } catch {
            switch error {
            case .full: break
            case .failed: intake.pauseAfterFailure()
            case .stopping: return false
            }
        }
        return true
    }

    private func sleep(_ limit: Duration?) {
        var polled = [pollfd(fd: signal.descriptor, events: Int16(POLLIN), revents: 0)]
        pollAll(&polled, for: limit)
        signal.clear()
    }

    /// What was read comes from nowhere again, so somebody should know.
    private mutating func tellOfLoss() {
        var lost = waiting.count
        while let line = splitter.next() {
            if case .bytes = line { lost += 1 }
        }
        let hasPart = splitter.hasPartialLine
        guard lost > 0 || hasPart else { return }
        let part = hasPart ? (lost > 0 ? " and a part of one" : "a part of a line") : ""
        let lines = lost > 0 ? "\(lost) \(lost == 1 ? "line" : "lines")" : ""
        intake.intake.report(.possibleGap("\(lines)\(part) had been read and could not be handed over"))
    }
}
