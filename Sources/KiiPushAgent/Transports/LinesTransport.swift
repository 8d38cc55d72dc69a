import CLibrary
public import KiiPush
public import KiiPushDelivery
import KiiPushSystem

/// Reads payloads as lines, from standard input or any other descriptor.
///
/// ```swift
/// let service = PushService(receiver, [LinesTransport(transport: .mqtt)])
/// ```
///
/// A program in any language can thus submit payloads through a pipe. Lines end with LF or CRLF, the last one may end
/// with the input; blank ones are skipped. A line above the limit counts as `undecodable`, is reported by its number as
/// `TransportEvent.possibleGap`, and skipped. The transport ends when the input has ended and everything was accepted.
///
/// It has its own thread, which blocks on the descriptor, and submits up to 64 payloads at once. While the service is
/// full, it reads nothing. It acknowledges nothing, and lines are never redelivered: lines that could not be submitted
/// before a cancellation are reported as `TransportEvent.possibleGap`, as is the first line of JSON that is printed
/// over several lines. If the inbox fails, it retries, with pauses from 100 ms to 10 s.
public struct LinesTransport: PushTransport {
    /// Its name in logs and metrics.
    public let name: String

    /// None: a line is neither acknowledged nor redelivered.
    public var abilities: TransportAbilities { [] }

    fileprivate let descriptor: Int32
    fileprivate let transport: Transport?
    fileprivate let limit: Int

    /// Makes a transport; it reads nothing before it runs.
    ///
    /// - Parameters:
    ///   - descriptor: the source of the lines, 0 for standard input; it stays open. Nobody else may read from it
    ///     meanwhile.
    ///   - transport: the network of the payloads, if known.
    ///   - limit: the most bytes of a line, without its end; use the receiver's limit for payloads.
    ///   - name: its name in logs and metrics.
    public init(
        descriptor: Int32 = 0, transport: Transport? = nil, limit: Int = PayloadLimits.standard.bytes,
        name: String = "stdin"
    ) {
        (self.descriptor, self.transport, self.limit, self.name) = (descriptor, transport, limit, name)
    }

    /// Submits line by line until the input ends or the task is cancelled.
    ///
    /// - Throws: `ReadError` if the descriptor cannot be read.
    public func run(_ intake: PushIntake) async throws {
        let signal: ThreadSignal
        do throws(ErrorNumber) { signal = try ThreadSignal() } catch { throw ReadError.unreadable(name: name, error) }
        try await withTaskCancellationHandler {
            try await withThread { [self] in
                var reading = LinesReading(self, intake, signal)
                return Result { () throws(ErrorNumber) in try reading.run() }
            }.mapError { ReadError.unreadable(name: name, $0) }.get()
        } onCancel: {
            signal.end()
        }
    }
}

/// The work of a ``LinesTransport``'s thread.
private struct LinesReading {
    private let source: LinesTransport
    private let signal: ThreadSignal
    private var splitter: LineSplitter
    private var intake: BatchedIntake
    private var buffer = [UInt8](repeating: 0, count: 65_536)
    private var lag = ReadLag()
    /// The lines that were read but not submitted, at most a batch.
    private var waiting: [RawPayload] = []
    private var inputHasEnded = false
    private var hasToldOfOpening = false

    init(_ source: LinesTransport, _ intake: PushIntake, _ signal: ThreadSignal) {
        (self.source, self.signal) = (source, signal)
        splitter = LineSplitter(limit: source.limit)
        self.intake = BatchedIntake(intake, signal)
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

    /// Takes whole lines out of the bytes read.
    private mutating func gather() {
        let isBehind = lag.isBehind(.now)
        while waiting.count < BatchedIntake.largestBatch {
            guard let line = splitter.next() ?? (inputHasEnded ? splitter.finish() : nil) else { return }
            switch line {
            case .bytes(let bytes, let number):
                tellOfOpening(bytes, number)
                waiting.append(RawPayload(bytes, transport: source.transport, hasWaited: isBehind))
            case .tooLong(let number):
                intake.intake.drop("line \(number)", largerThan: source.limit, network: source.transport)
            }
        }
    }

    /// Reports, once, a line that is only the beginning of JSON: no line of such input is a payload.
    private mutating func tellOfOpening(_ bytes: [UInt8], _ number: Int) {
        guard !hasToldOfOpening, bytes.isOpeningOfJSON else { return }
        hasToldOfOpening = true
        intake.intake.report(
            .possibleGap(
                "line \(number) is only the beginning of a JSON text; write each payload on one line, as 'jq -c .' does"
            ))
    }

    private mutating func read() throws(ErrorNumber) {
        var polled = [
            pollfd(fd: signal.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: source.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        let start = ContinuousClock.now
        pollAll(&polled, for: nil)
        lag.polled(start, .now, isReady: polled[1].revents & Int16(POLLIN) != 0)
        if polled[0].revents != 0 { signal.clear() }
        guard polled[1].revents != 0, !signal.hasEnded else { return }
        let count = readOnce(source.descriptor, into: &buffer)
        if count > 0 {
            splitter.append(buffer[..<count])
        } else if count == 0 {
            inputHasEnded = true
        } else if errno != EAGAIN {
            throw .current
        }
    }

    /// Submits waiting lines, or waits for capacity; false if the service accepts no more.
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

    /// Reports lost lines, which are never redelivered.
    private mutating func tellOfLoss() {
        var lost = waiting.count
        while let line = splitter.next() {
            if case .bytes = line { lost += 1 }
        }
        let hasPart = splitter.hasPartialLine
        guard lost > 0 || hasPart else { return }
        let part = hasPart ? (lost > 0 ? " and a part of one" : "a part of a line") : ""
        let lines = lost > 0 ? "\(lost) \(lost == 1 ? "line" : "lines")" : ""
        intake.intake.report(
            .possibleGap("\(lines)\(part) had been read and could not be handed over", cause: .notAccepted))
    }
}
