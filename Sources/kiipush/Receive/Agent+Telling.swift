import KiiPush
import KiiPushDelivery
import KiiPushLinux
import Synchronization

// What an agent tells its log, its manager and those who watch.
extension Agent {
    /// Says when nobody can switch anything off from outside.
    func tellOfNoSwitch() {
        if state == nil {
            log.trouble("no kill switch: 'kiipush kill' works on a state directory; name one with --state DIR")
        } else if receiver.loopGuard == nil {
            log.trouble("no kill switch: the receiver's chain has no loop guard")
        }
    }

    /// Says of each route that is watched for silence and is not there: it would seem to be silent for ever.
    func tellOfUnknownRoutes() {
        let known = receiver.routes.map(\.id)
        for limit in options.silentAfter where !limit.route.isEmpty && !known.contains(limit.route) {
            log.trouble("--silent-after: \(Suggestion.unknown("route", limit.route, known: known))")
        }
    }

    /// Has outcomes and events told.
    func watch() {
        // Not the reports as a whole, which have the receiver and the service.
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
        receiver.loopGuard?.onRisk { log.trouble("a handler writes to a bucket that its own route listens to: \($0)") }
        if let state, !AgentState.isDurable {
            log.trouble(
                "this kiipush is built without the trait SQLite: it keeps messages in memory, acknowledges them when "
                    + "they have ended, and loses them with the process unless the sender sends them again; "
                    + "\(escaped(state.directory)) keeps kills only")
        }
    }

    /// Tells the manager how the link to a broker is, and keeps that there is a session.
    private func followLink(_ event: ServiceEvent) {
        switch event {
        case .transport(_, .connected(let detail)):
            hasConnected.store(true, ordering: .relaxed)
            log.shortages?.end(.broker)
            manager.status("connected: \(detail)")
            do { try transports.noteSession() } catch { log.trouble("\(error)") }
        case .transport(_, .disconnected(let why, _)): manager.status("not connected: \(why)")
        case .transport(let name, .refused(let why, _)):
            log.shortages?.begin(.broker, "\(name) is refused: \(why); it asks again, with growing pauses")
            manager.status("refused: \(why)")
        default: break
        }
    }
}
