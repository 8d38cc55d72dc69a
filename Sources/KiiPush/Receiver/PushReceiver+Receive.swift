import Synchronization

// The path of a message through a receiver, from its payload to its end; read it from top to bottom.
//
//     payload > decode > routes > ask the chain > handle > end
//
// A `PushService` takes the same steps, over an inbox and with retries; see `PushService+Deliver.swift`.

extension PushReceiver {
    // MARK: Receiving

    /// Receives one payload, and returns when its handlers have returned.
    ///
    /// Handlers of several routes run one after another, in order of declaration; if one fails, the next one still
    /// runs. A duplicate of a message that is being handled ends at once; its transport is to deliver it again.
    public func receive(_ payload: consuming RawPayload) async -> Outcome {
        do {
            var incoming = Incoming(try prepare(payload))
            // Not by the method below, since each asynchronous frame costs some 300 instructions; and the outcome of
            // an only route is that of the message.
            if let outcome = start(&incoming) { return outcome }
            let outcome =
                if let route = incoming.message.routes.only {
                    ended(route, incoming.message, await call(route, incoming.message))
                } else {
                    await handle(&incoming)
                }
            // Consumed, or it would be copied.
            end(consume incoming, outcome)
            return outcome
        } catch { return .undecodable(error) }
    }

    /// Asks the chain, runs the handlers, and ends the message; without `call`, handlers have no time limit.
    func receive(_ incoming: inout Incoming, call: ((Route, RoutedMessage) async -> Outcome)? = nil) async -> Outcome {
        if let outcome = start(&incoming) { return outcome }
        let outcome = await handle(&incoming, call)
        end(incoming, outcome)
        return outcome
    }

    /// Asks the chain, and begins an attempt; returns the outcome of a message that ends or waits instead.
    private func start(_ incoming: inout Incoming) -> Outcome? {
        guard let outcome = ask(&incoming) else {
            incoming.begin()
            return nil
        }
        if outcome.isPaced {
            // It waits on, at its transport.
            incoming.message.heard = .no
            for route in incoming.message.routes { route.paced.add(1, ordering: .relaxed) }
        }
        end(incoming, outcome)
        return outcome
    }

    // MARK: Decode, and look up the routes

    /// A number for a message.
    package func nextID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }

    package func decode(_ payload: consuming RawPayload) throws(DecodeError) -> PushMessage {
        try PushMessage(payload, limits: limits, formats: formats)
    }

    /// Decodes a payload and looks up its routes; counts and reports one that cannot be decoded.
    package func prepare(_ payload: consuming RawPayload) throws(DecodeError) -> RoutedMessage {
        let (table, recorder) = begin()
        let id = nextID()
        // Read before the message consumes the payload, which saves a copy of it.
        let arrival = payload.arrivedAt
        let transport = recorder == nil ? nil : payload.transport
        do { return route(try decode(payload), id, arrival, table, recorder) } catch {
            end(transport, error, id, recorder)
            throw error
        }
    }

    /// Counts and reports a payload that could not be decoded.
    package func end(_ transport: Transport?, _ error: DecodeError, _ id: UInt64, _ recorder: TraceRecorder?) {
        let outcome = Outcome.undecodable(error)
        recorder?.end(.decode, error.description)
        counters.count(outcome)
        if let recorder { tell(recorder.trace(id, nil, transport, outcome)) }
    }

    /// Looks up the routes of a message.
    package func route(
        _ message: consuming PushMessage, _ id: UInt64, _ arrival: MonotonicInstant?, _ table: RouteTable,
        _ recorder: TraceRecorder?
    ) -> RoutedMessage {
        let decodedAt = recorder?.now
        let match = table.match(message.storage)
        let now = clock.now
        if let decodedAt { recorder?.routed(match.routes, decodedAt: decodedAt, at: now) }
        // A payload that waited before it came here is judged at the current time, as earlier ones were. An arrival by
        // another clock may be later than now, and must not make the deduplicator forget others.
        return RoutedMessage(
            message, id: id, arrivedAt: min(arrival ?? now, now), admittedAt: now, app: app, match: match,
            recorder: recorder)
    }

    // MARK: Ask the chain

    /// Asks the chain whether the handlers of a message may run; returns how it ends or waits instead.
    package func ask(_ incoming: inout Incoming, _ bypass: AdmissionBypass = .none) -> Outcome? {
        if bypass != .none { incoming.message.bypass = bypass }
        incoming.table = nil
        var passed = 0
        defer { incoming.passed = passed }
        if let outcome = chain.admit(&incoming.message, &passed) { return outcome }
        guard incoming.message.routes.isEmpty else { return nil }
        if let reason = incoming.message.stopped { return Outcome(reason) }
        return .unrouted(incoming.message.isTooAmbiguous ? .ambiguous : .noRoute)
    }

    // MARK: Handle

    /// Runs the handlers that have not handled a message yet, one after another; if one fails, the next one still runs.
    ///
    /// Killed routes, which were switched off while it waited, do not get it. The outcome `failed` has the first
    /// failure that is no ``ResourceShortage``, else the first one.
    package func handle(
        _ incoming: inout Incoming, besides killed: [String] = [],
        _ call: ((Route, RoutedMessage) async -> Outcome)? = nil
    ) async -> Outcome {
        var first: Outcome.Failure?
        let routes = incoming.message.routes
        for route in routes where !incoming.hasEnded(route.id) && !killed.containsExactly(route.id) {
            let outcome =
                if let call {
                    await call(route, incoming.message)
                } else {
                    ended(route, incoming.message, await self.call(route, incoming.message))
                }
            // Most messages have one route, and it handles them.
            if case .handled = outcome, routes.count == 1, killed.isEmpty { return outcome }
            incoming.record(route, outcome)
            guard case .failed(let failure) = outcome else { continue }
            if first == nil || first?.isShortage == true && !failure.isShortage { first = failure }
        }
        guard let first else { return incoming.outcome }
        return .failure(of: first.place, first.error, handled: incoming.handled)
    }

    // MARK: Run a handler

    /// Calls the handler of a route, unless the message is too old for it, or has expired.
    ///
    /// The caller reports how it ended by ``ended(_:_:_:)``, unless nobody waits for it any more.
    // Inlined, because an asynchronous frame of its own costs some 300 instructions.
    @inline(__always)
    package func call(_ route: Route, _ message: RoutedMessage, maxAge: Duration? = nil) async -> HandlerEnd {
        let mayBeTooOld =
            route.maxAge != nil || maxAge != nil || message.message.expiresAt != nil || message.message.storage.hasMQTT
        if mayBeTooOld, isTooOld(message, for: route, maxAge) { return .expired }
        message.recorder?.call(route, message)
        do {
            let context = HandlerContext(message, route, chain.loopGuard)
            // Here, because a method would have an asynchronous frame of its own.
            switch route.handler {
            case .any(let handler): try await handler(message.message, context)
            case .pushToApp(let handler): try await handler(proven(PushToAppMessage(message.message)), context)
            case .bucket(let handler): try await handler(proven(BucketEvent(message.message)), context)
            case .object(let handler): try await handler(proven(ObjectEvent(message.message)), context)
            case .pushToUser(let handler): try await handler(proven(PushToUserMessage(message.message)), context)
            case .topic(let handler): try await handler(proven(TopicMessage(message.message)), context)
            case .directPush(let handler): try await handler(proven(DirectPushMessage(message.message)), context)
            case .gap(let handler): try await handler(proven(Gap(message.message)), context)
            case .foreign(let handler): try await handler(proven(ForeignPushMessage(message.message)), context)
            }
            return .returned
        } catch { return .threw(error) }
    }

    /// Counts and traces how the handler of a route has ended; returns the route's own outcome.
    package func ended(_ route: Route, _ message: RoutedMessage, _ end: HandlerEnd) -> Outcome {
        switch end {
        case .returned:
            route.handled.add(1, ordering: .relaxed)
            message.recorder?.returned()
        case .threw(let error):
            if !(error is any ResourceShortage) { route.failed.add(1, ordering: .relaxed) }
            message.recorder?.returned(error)
        case .expired: break
        }
        return end.outcome(of: route)
    }

    /// The view of a message, which the route's conditions guarantee.
    private func proven<View>(_ view: View?) throws -> View {
        guard let view else { throw UnprovenMatch(view: "\(View.self)") }
        return view
    }

    // MARK: The end

    /// Ends a message: notifies the middlewares that admitted it, counts its outcome, and traces it.
    package func end(_ incoming: Incoming, _ outcome: Outcome) {
        chain.settle(incoming.message, outcome, incoming.passed ?? 0)
        chain.loopGuard?.forget(incoming.message)
        counters.count(outcome)
        if let format = incoming.message.message.format, !outcome.isPaced {
            formatCounts.withLock { $0[format, default: 0] += 1 }
        }
        if let recorder = incoming.message.recorder { tell(recorder.trace(incoming.message, outcome)) }
    }

    /// Calls the listeners of traces, as they are now: some may have been removed since the message came.
    func tell(_ trace: Trace) { traceListeners.call(trace) }
}

/// How the handler of a route has ended.
package enum HandlerEnd: Sendable {
    case returned
    case threw(any Error)
    /// It was not called: the message was too old for it, or had expired.
    case expired

    /// The route's own outcome; if the error ended a loop, that was intended.
    package func outcome(of route: Route) -> Outcome {
        switch self {
        case .returned: .handled(MatchedRoutes(only: route))
        case .threw(is LoopRefusal): .looped(.ownBucket)
        case .threw(is LineageTooLong): .looped(.lineage)
        case .threw(let error): .failure(of: route.id, error)
        case .expired: .expired
        }
    }
}

extension Outcome.Failure {
    /// Whether a handler failed for lack of a resource.
    package var isShortage: Bool { error is any ResourceShortage }
}

extension Outcome {
    /// The outcome of a message that was dropped.
    init(_ reason: DropReason) {
        self =
            switch reason {
            case .duplicate: .duplicate(.done)
            case .duplicateInFlight: .duplicate(.inFlight(.retryLater))
            case .looped(let layer): .looped(layer)
            case .superseded: .superseded
            case .refused(let refusal): .refused(refusal)
            }
    }

    /// The outcome of a message for which a handler or, if `isMiddleware`, a middleware threw.
    package static func failure(
        of place: String, isMiddleware: Bool = false, _ error: any Error, handled: MatchedRoutes = MatchedRoutes()
    ) -> Outcome {
        .failed(Failure(place: place, isMiddleware: isMiddleware, error: error, handled: handled))
    }
}
