import KiiPush
import KiiPushDelivery
import KiiPushSystem
import Synchronization

// The agent's reports to its log, its service manager and its watchers.
extension AgentRun {
    /// Reports what the chain lacks, such as that nothing can be switched off from outside, and which settings have no
    /// effect.
    func tellOfSettings() {
        if state != nil, receiver.loopGuard == nil {
            log.trouble("no kill switch: the receiver's chain has no loop guard")
        }
        if reports.deduplicator != nil, !receiver.chain.hasLastingDeduplicator {
            log.trouble(
                "a message may be handled again after a restart: the receiver's chain does not use the deduplicator of "
                    + "the state, which its builder is given")
        }
        for problem in receiver.chainProblems { log.trouble("\(problem)") }
        let (count, most) = (settings.silentAfter.count, SilenceWatch.mostLimits)
        if count > most { log.trouble("limits of silence: of \(count), only the first \(most) count") }
    }

    /// Reports each route that is watched for silence but does not exist: it would seem silent forever.
    func tellOfUnknownRoutes() {
        let known = receiver.routes.map(\.id)
        for limit in settings.silentAfter where !limit.route.isEmpty && !known.containsExactly(limit.route) {
            log.trouble("limits of silence: \(Suggestion.unknown("route", limit.route, known: known))")
        }
    }

    func watch() {
        // Captures parts of the reports only: as a whole, they retain the receiver and the service.
        let (log, counts) = (log, reports.counts)
        receiver.onTrace { [latencies = reports.latencies, silence = reports.silence, taps] trace in
            log.tell(trace)
            latencies.count(trace)
            silence.saw(trace)
            taps.offer(trace)
        }
        service.onEvent { [weak self] event in
            log.tell(event)
            counts.count(event)
            self?.followLink(event)
        }
        receiver.loopGuard?.onRisk { risk in
            log.trouble(
                "a handler writes to a bucket that its own route listens to: \(risk)", "own bucket", of: risk.route)
        }
        receiver.loopGuard?.onPaced { log.trouble($0.sentence, "paced", of: $0.route) }
        if let state, !AgentState.isDurable {
            log.trouble(
                "this program is built without the trait SQLite: it keeps messages in memory, acknowledges them when "
                    + "they have ended, and loses them with the process unless the sender sends them again; "
                    + "\(escaped(state.directory)) keeps kills only")
        }
    }

    /// Reports a status to the service manager: its problems, else the state of the connection.
    func tellManager(_ status: AgentStatus) {
        // What the connection reported says more than the status.
        tellManager(link == nil ? status.problems : status.ownProblems)
    }

    /// Reports new problems, or a change of the connection.
    private func tellManager(_ problems: [String]? = nil) {
        let text: String? = managed.withLock { managed in
            if let problems { managed.problems = problems }
            let before = managed.text
            managed.text =
                managed.problems.isEmpty ? link ?? "accepts payloads" : managed.problems.joined(separator: "; ")
            return managed.text == before ? nil : managed.text
        }
        if let text { manager.status(text) }
    }

    /// A connection that is lacking, else the first one, in words; nil until one was reported.
    private var link: String? {
        let links = reports.counts.links.filter { $0.detail != nil }
        guard let link = links.first(where: { !$0.isUp }) ?? links.first, let detail = link.detail else { return nil }
        return switch link.state {
        case .connected, .refused: "\(link.state.rawValue): \(detail)"
        case .starting, .connecting, .reconnecting, .ended: "not connected: \(detail)"
        }
    }

    /// Reports a change of the broker's connection, which was counted, to the service manager, and records that a
    /// session exists.
    private func followLink(_ event: ServiceEvent) {
        guard case .transport(let name, let event) = event else { return }
        switch event {
        case .connected:
            hasConnected.store(true, ordering: .relaxed)
            if !reports.counts.links.contains(where: { $0.state == .refused }) { log.shortages.end(.broker) }
            do { try transports.noteSession(name) } catch { log.trouble("\(error)") }
        case .refused(let why, _):
            log.shortages.begin(.broker, "\(name) is refused: \(why); retrying with growing pauses")
        case .disconnected: break
        case .possibleGap, .ignored: return
        }
        tellManager()
    }
}
