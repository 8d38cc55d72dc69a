import Synchronization

// The path of a message through a receiver, from its payload to its end; read it from top to bottom.
//
//     payload > decode > routes > chain > handlers > end
//
// A message is walked step by step, as its `MessageWalk` directs.

extension PushReceiver {
    // MARK: Receiving

    /// Receives one payload, and returns when its handlers have returned.
    ///
    /// Handlers of several routes run one after another, in order of declaration; if one fails, the next one still
    /// runs. A duplicate of a message that is being handled returns when that message has ended, so a handler must not
    /// wait for the outcome of its own payload.
    public func receive(_ payload: consuming RawPayload) async -> Outcome {
        do {
            var walk = MessageWalk(try prepare(payload))
            return await self.walk(&walk)
        } catch {
            return .undecodable(error)
        }
    }

    // MARK: Decode, and look up the routes

    /// A number for a message.
    @inline(__always)
    package func nextID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }

    /// Decodes a payload and looks up its routes; counts and reports one that cannot be decoded.
    @inline(__always)
    package func prepare(_ payload: consuming RawPayload) throws(DecodeError) -> RoutedMessage {
        let (table, recorder) = begin()
        let id = nextID()
        // Read before the message consumes the payload, which saves a copy of it.
        let arrival = payload.arrivedAt
        let transport = recorder == nil ? nil : payload.transport
        let message: PushMessage
        do {
            message = try PushMessage(payload, limits: limits)
        } catch {
            end(transport, error, id, recorder)
            throw error
        }
        return route(message, id, arrival, table, recorder)
    }

    /// Counts and reports a payload that could not be decoded.
    package func end(_ transport: Transport?, _ error: DecodeError, _ id: UInt64, _ recorder: TraceRecorder?) {
        let outcome = Outcome.undecodable(error)
        recorder?.end("decode", error.description)
        counters.count(outcome)
        recorder?.finish(id, nil, transport, outcome)
    }

    /// Looks up the routes of a message.
    @inline(__always)
    package func route(
        _ message: PushMessage, _ id: UInt64, _ arrival: MonotonicInstant?, _ table: RouteTable,
        _ recorder: TraceRecorder?
    ) -> RoutedMessage {
        recorder?.decoded(message)
        let match = table.match(message.storage)
        recorder?.routed(match.routes)
        let now = clock.now
        // A payload that waited before it came here is judged at the current time, as earlier ones were.
        return RoutedMessage(
            message, id: id, arrivedAt: arrival ?? now, admittedAt: now, app: app, match: match, recorder: recorder)
    }

    // MARK: The walk

    /// Walks a message until it ends or has to wait.
    ///
    /// - Parameters:
    ///   - walk: the walk, not started.
    ///   - call: calls a route's handler; nil calls it without a time limit.
    /// - Returns: its outcome.
    // Never inlined: every message's frame would include the continuations of a walk, which few messages need.
    @inline(never)
    func walk(_ walk: inout MessageWalk, call: ((Route, RoutedMessage) async -> Outcome)? = nil) async -> Outcome {
        var step = walk.start()
        while true {
            switch consume step {
            case .ask(let bypass):
                let (judgement, passed) = admit(&walk.message, bypass)
                step = walk.judged(judgement, passed, bypass)
            case .undo(let failure, let passed):
                end(walk.message, .failed(failure), .passed(passed))
                return .failed(failure)
            case .pace(let until, let passed, _):
                // It waits on, at its transport.
                walk.message.heard = .no
                for route in walk.message.routes { route.paced.add(1, ordering: .relaxed) }
                end(walk.message, .paced(until: until), .passed(passed))
                return .paced(until: until)
            // It has not waited.
            case .lookForKills: step = walk.switchedOff([])
            case .run(let route):
                let outcome =
                    if let call { await call(route, walk.message) } else { await self.call(route, walk.message) }
                step = walk.ran(route, outcome)
            case .deadLetterKilled(let routes):
                step = walk.deadLetteredKilled(deadLetter(walk.message, .killSwitch, routes))
            case .fail(let failure): step = walk.failedForGood(failure)
            case .deadLetter(let reason):
                let routes = walk.open { match(walk.message.message) }
                step = walk.deadLettered(deadLetter(walk.message, reason, routes), reason, routes, isDurable: false)
            case .follow(let lease): step = .end(await wait(for: lease, walk.message))
            case .end(let outcome):
                end(walk.message, outcome, walk.chain)
                return outcome
            // Steps of a service: a receiver alone does not record, retry, postpone or leave messages.
            case .begin: step = walk.begun(true)
            case .record(let next): step = next
            case .retry(let failure), .waitForResources(let failure): step = .end(.failed(failure))
            case .putOff(_, let outcome): step = .end(outcome)
            case .leave: step = .end(.unrouted(.noRoute))
            }
        }
    }

    // MARK: Ask the chain

    /// Sends a message through the chain.
    ///
    /// - Returns: the chain's decision, and the number of middlewares that have admitted the message.
    package func admit(
        _ message: inout RoutedMessage, _ bypass: AdmissionBypass
    ) -> (judgement: MessageWalk.Judgement, passed: Int) {
        switch bypass {
        case .none, .all: break
        case .seen, .superseded: message.bypass(bypass)
        }
        var passed = 0
        do {
            let verdict = try chain.admit(&message, &passed)
            // The common case first: it does not read the rest of the message, which saves a copy of it.
            if verdict == .pass, !message.routes.isEmpty { return (.handle, passed) }
            return (judgement(verdict, message), passed)
        } catch {
            let failure = error as? StageFailure
            let outcome = Outcome.failed(
                Outcome.Failure(
                    place: failure?.stage ?? "chain", isStage: true, error: failure?.underlying ?? error,
                    handled: MatchedRoutes()))
            return (.end(outcome), passed)
        }
    }

    /// Translates the verdict of the chain, or of the loop guard alone, for a message.
    func judgement(_ verdict: Verdict, _ message: RoutedMessage) -> MessageWalk.Judgement {
        switch verdict {
        case .drop(let reason): return judgement(reason)
        case .later(let until): return .later(until)
        case .pass:
            guard message.routes.isEmpty else { return .handle }
            if let reason = message.stopped { return judgement(reason) }
            return .end(.unrouted(message.isTooAmbiguous ? .ambiguous : .noRoute))
        }
    }

    private func judgement(_ reason: DropReason) -> MessageWalk.Judgement {
        switch reason {
        case .duplicate: .end(.duplicate(.done))
        case .duplicateInFlight(let lease): .wait(lease)
        case .looped(let layer): .end(.looped(layer))
        case .superseded: .end(.superseded)
        case .refused(let refusal): .end(.refused(refusal))
        }
    }

    /// The outcome of a message that repeats one in flight.
    package func wait(for lease: SeenLease, _ message: RoutedMessage) async -> Outcome {
        .duplicate(.inFlight(await message.first?.end(of: lease, now: message.arrivedAt) ?? .retryLater))
    }

    // MARK: Run a handler

    /// Calls the handler of a route, unless the message is too old for it.
    ///
    /// - Parameters:
    ///   - route: the route.
    ///   - message: a message that the chain admitted for this route.
    ///   - maxAge: the limit for routes without delivery settings of their own.
    /// - Returns: the outcome for this route alone.
    @inline(__always)
    package func call(_ route: Route, _ message: RoutedMessage, maxAge: Duration? = nil) async -> Outcome {
        if route.maxAge != nil || maxAge != nil, isTooOld(message, for: route, maxAge) { return .expired }
        message.recorder?.call(route, attempt: Int(message.attempt))
        do {
            try await route.handler(message.message, HandlerContext(message, route, chain.loopGuard))
            route.handled.add(1, ordering: .relaxed)
            message.recorder?.handled(route)
            return .handled(MatchedRoutes(only: route))
        } catch {
            route.failed.add(1, ordering: .relaxed)
            message.recorder?.failed(route, error)
            return .thrown(error, by: route)
        }
    }

    // MARK: The end

    /// Ends a message: notifies the middlewares that admitted it, counts its outcome, and traces it.
    @inline(__always)
    package func end(_ message: RoutedMessage, _ outcome: Outcome, _ progress: ChainProgress) {
        chain.settle(message, outcome, progress)
        chain.loopGuard?.forget(message)
        counters.count(outcome)
        message.recorder?.finish(message, outcome)
    }
}

extension Outcome {
    /// The outcome for a route whose handler threw; if the error ended a loop, that was intended.
    static func thrown(_ error: any Error, by route: Route) -> Outcome {
        if let end = error as? any LoopEnd { return .looped(end.layer) }
        return .failure(of: route.id, error)
    }

    /// The outcome of a message whose one handler threw.
    package static func failure(of route: String, _ error: any Error) -> Outcome {
        .failed(Failure(place: route, isStage: false, error: error, handled: MatchedRoutes()))
    }
}
