import CLibrary
import KiiPush
import KiiPushSystem

/// A program's run for one message.
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
        switch end {
        case .exited(0): return
        case .exited(let status): throw ProgramError.exited(program: name, status: status, said: said)
        case .signaled(let signal): throw ProgramError.signaled(program: name, signal: signal, said: said)
        case .timedOut: throw ProgramError.stopped(program: name, said: said)
        }
    }

    /// Serves the program's streams until it ends.
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
        var killAt: ContinuousClock.Instant? {
            didSet { hasBegun = true }
        }
        private(set) var hasBegun = false

        /// The longest time to wait for the program.
        var left: Duration? { killAt.map { max(ContinuousClock.now.duration(to: $0), .zero) } }

        mutating func attempt(_ work: () throws -> Void) {
            do { try work() } catch { refusal = refusal ?? error }
        }
    }
}
