import KiiPush
import KiiPushAgent
import KiiPushSystem
import Synchronization

extension ReportCommand {
    /// Collects the messages of a running agent as they end, and writes the page when that is over.
    func watch(_ console: Console) async -> ExitCode {
        let agent: WatchedAgent
        do throws(Arguments.Mistake) { agent = WatchedAgent(directory: try StateOption.directory(state ?? "")) } catch {
            console.error("kiipush report: \(error.text)")
            return .usage
        }
        let watching = Watching(WatchedReport(source: agent.directory, showsValues: showsValues))
        // Ctrl-C is how most people end it: the page is what they waited for.
        let signals = console.isStandard ? StopSignals { exitProcess(end(watching, console)) } : nil
        defer { withExtendedLifetime(signals) {} }
        if console.isStandard { console.error("watching \(escaped(agent.directory)); Ctrl-C writes the page") }
        do {
            let code = try await agent.control.ask(
                ["tap", "--format", "json"], until: duration.map { .now + $0 },
                print: { line in watching.add(line, console) }, error: console.error)
            guard code == ExitCode.fine.rawValue else { return ExitCode(rawValue: code) ?? .failed }
        } catch SocketError.nobodyAnswers(_, let number) where number == SocketError.brokenOff {
            console.error("kiipush report: the agent closed the connection; the page ends there")
        } catch {
            return agent.tell(agent.silence("\(error)"), "report", console)
        }
        return end(watching, console)
    }

    private func end(_ watching: Watching, _ console: Console) -> ExitCode {
        // Nil if a signal and the watch end at the same time: the other one writes the page.
        guard let report = watching.finish() else { return .fine }
        return page(report, console) ? .fine : .failed
    }
}

/// The report that grows while an agent is watched.
private final class Watching: Sendable {
    private let state: Mutex<(report: WatchedReport?, lines: Int)>

    init(_ report: WatchedReport) { state = Mutex((report, 0)) }

    func add(_ line: String, _ console: Console) {
        state.withLock { state in
            state.lines += 1
            do throws(CaptureError) { try state.report?.add(Array(line.utf8), state.lines) } catch {
                console.error("kiipush report: \(error.description)")
            }
        }
    }

    /// The report of everything so far, once; nil afterwards.
    func finish() -> Report? {
        var report = state.withLock { $0.report.take() }
        return report?.finish()
    }
}
