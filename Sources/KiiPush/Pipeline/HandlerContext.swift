/// The context of a handler's call: facts about the message, and methods to declare the writes and the messages that
/// the handler is about to send.
public struct HandlerContext: Sendable {
    /// The message's number in its receiver, as in traces.
    public let messageID: UInt64
    /// When the payload arrived, on the receiver's clock.
    public let arrivedAt: MonotonicInstant

    /// How often the handler has been called with the message, this call included: 1 unless a `PushService` retries, or
    /// a dead letter is replayed.
    ///
    /// An earlier call may have done part of the work before it threw, was cancelled, or the process ended. A replay is
    /// one more than ``DeadLetter/attempts``, which earlier replays do not change.
    public var attempt: Int { Int(attemptNumber) }

    private let attemptNumber: UInt32
    let matched: Route
    let message: PushMessage
    /// A longer lineage than the message's, if the handler found one.
    private var lineage: Lineage? = nil
    let loopGuard: (any WriteWatch)?
    let recorder: TraceRecorder?
    private let answers: GivenAnswers?

    /// The route that called the handler.
    public var route: String { matched.id }

    /// What an MQTT broker said of the message: its topic, and with MQTT 5 its properties; nil for other transports.
    public var mqtt: MQTTPublish? { message.storage.mqtt }

    // MARK: Answering

    /// Whether somebody waits for an answer who can be reached: the sender of a command, of an MQTT 5 message with a
    /// response topic, or the client of a socket.
    public var expectsAnswer: Bool { answers != nil }

    /// Answers the message: its sender gets the answer when the message has ended, once.
    ///
    /// ```swift
    /// agent.onCommand(id: "power", action: "turnPower") { command, context in
    ///     try context.answer(.succeeded(["power": true]))
    /// }
    /// ```
    ///
    /// The last answer of a handler counts, if the handler then returns; of several routes, that of the first. With a
    /// durable inbox it survives a crash. It does nothing unless the message ``expectsAnswer``.
    ///
    /// - Throws: ``AnswerTooLarge``.
    public func answer(_ answer: Answer) throws(AnswerTooLarge) {
        guard let answers else { return }
        let text = answer.jsonText
        // What an inbox could not read again would be lost at the next start.
        guard text.utf8.count <= Answer.mostBytes, Answer(json: text) != nil else {
            throw AnswerTooLarge(bytes: text.utf8.count)
        }
        answers.add(answer, of: route, attempt)
    }

    // MARK: Writing

    /// Creates, changes or deletes an object, and has the guard drop the event.
    ///
    /// ```swift
    /// try await context.writing(event.object) {
    ///     .done(modifiedAt: try await cloud.put(event.object))
    /// }
    /// ```
    ///
    /// It declares the write, and reports its end. If `write` throws, it counts as failed: its event, if it happened
    /// all the same, is handled, unless it came before that and was dropped. One declaration drops one event, see
    /// ``OwnWrite``: a write that changes two things, such as fields and body, is two.
    ///
    /// - Parameters:
    ///   - object: the object, whether or not it exists yet.
    ///   - change: what the write does to it; by default, it creates the object or changes its fields.
    ///   - write: writes, and returns what became of it.
    /// - Throws: before anything is written, ``LoopRefusal`` if the handler's own route accepts events of that bucket
    ///   and refuses such writes; by default they are only reported, to ``LoopGuard/onRisk(_:)``. ``WriteBudgetSpent``
    ///   if the route has declared writes for more than 20 messages, and for more than six a minute since: a service
    ///   runs the handler again from its beginning, so declare a write before other effects. The errors of `write`.
    public nonisolated(nonsending) func writing(
        _ object: KiiObject, changing change: ObjectChange = .fields, _ write: () async throws -> OwnWrite.End
    ) async throws {
        let declared = try willWrite(object, changing: change)
        do {
            switch try await write() {
            case .done(let time): declared.done(modifiedAt: time)
            case .nothing: declared.failed()
            }
        } catch {
            declared.failed()
            throw error
        }
    }

    /// Declares a write as ``writing(_:changing:_:)`` does; the caller reports its end in every case.
    package func willWrite(_ object: KiiObject, changing change: ObjectChange = .fields) throws -> OwnWrite {
        try judge(object.bucket, object.uri)
        return loopGuard?.announce(object, change, since: nil) ?? OwnWrite(expected: nil)
    }

    /// Declares a new object in a bucket, whose id the server will make.
    ///
    /// Its event is dropped only if it is judged after ``OwnCreation/done(id:modifiedAt:)``; before that, it cannot be
    /// distinguished from the event of another device. Where you can, choose the id yourself and declare the object.
    ///
    /// Throws as ``writing(_:changing:_:)`` does before it writes.
    public func willCreate(in bucket: KiiBucket) throws -> OwnCreation {
        try judge(bucket, bucket.uri)
        return OwnCreation(loopGuard: loopGuard, bucket: bucket, since: loopGuard?.now)
    }

    private func judge(_ bucket: KiiBucket, _ target: KiiURI) throws {
        try spendWrite()
        guard let loopGuard, matched.options.ownBucket != .allow, loopGuard.settings.layers.contains(.ownBucket)
        else { return }
        let cause: LoopRisk.Cause
        if let own = message.bucket, own.name.isExactly(bucket.name), own.scope == bucket.scope {
            cause = .sameBucket
        } else if matched.criteria.mayTake(bucket) {
            cause = .sameRoute
        } else {
            return
        }
        let risk = LoopRisk(route: matched.id, target: target, cause: cause, messageID: messageID)
        loopGuard.report(risk)
        recorder?.note("risk: \(cause.rawValue)")
        if matched.options.ownBucket == .refuse { throw LoopRefusal(risk: risk) }
    }

    /// Takes the message from the route's budget of messages that write.
    private func spendWrite() throws(WriteBudgetSpent) {
        if !matched.isUnlimited { try loopGuard?.spendWrite(of: matched.id, for: messageID) }
    }

    // MARK: Sending on

    /// The stamp for a message or an object that the handler sends or writes: put it under ``Lineage/key`` into the
    /// data of a Push to User, or into the object.
    ///
    /// It counts one handler more than the message that the handler was called with. Read it right before the write,
    /// which must follow within 30 seconds.
    public var stamp: String {
        let maker = loopGuard?.origin ?? "-"
        let next = (lineage ?? message.lineage)?.next ?? Lineage(hops: 1, origin: maker)
        let waited = loopGuard.map { arrivedAt.duration(to: $0.now).inNanoseconds / 1_000_000 } ?? 0
        return next.stamped(at: message.serverTime?.addingClamped(waited), by: maker).stamp
    }

    /// Puts the stamp into the data of a Push to User, or the fields of an object.
    public func stamp(_ data: inout [String: DataValue]) { data[Lineage.key] = .string(stamp) }
}

extension HandlerContext {
    // Calls the memberwise initialiser, which copies nothing: see that of ``RoutedMessage``.
    init(_ routed: borrowing RoutedMessage, _ route: Route, _ loopGuard: (any WriteWatch)?) {
        self.init(
            messageID: routed.id, arrivedAt: routed.arrivedAt, attemptNumber: routed.attempt, matched: route,
            message: routed.message, loopGuard: loopGuard, recorder: routed.recorder, answers: routed.answers)
    }

    /// Continues the lineage of an object that the handler has fetched, so that a loop over objects ends too.
    ///
    /// A Push to App carries no stamp, but its object does. If handlers put the stamp into the objects that they write,
    /// and pass it to this method before they write again, a loop over many devices ends after ``LoopSettings/hops``
    /// writes, however slow it is.
    ///
    /// Not each stamp counts; ``Lineage`` says which. Prefer ``continuing(fields:)`` if the fields come from Kii's REST
    /// API: of several messages that wait, the object's own time of modification shows which one caused its last write.
    ///
    /// - Parameters:
    ///   - stamp: the object's value under ``Lineage/key``, if it has one; an unreadable one counts as none.
    ///   - modifiedAt: the object's time of modification as the server returned it with the fields, in milliseconds
    ///     since 1970; nil for the event's.
    /// - Returns: a context whose ``stamp`` counts on from the longer of the object's lineage and the message's.
    /// - Throws: ``LineageTooLong`` if the object has passed through too many handlers; let the handler throw it.
    public func continuing(_ stamp: String?, modifiedAt: Int64? = nil) throws -> HandlerContext {
        guard let found = stamp.flatMap({ Lineage($0) }), counts(found, modifiedAt) else { return self }
        let settings = loopGuard?.settings ?? .standard
        if settings.layers.contains(.lineage), found.hops > settings.hops {
            throw LineageTooLong(hops: found.hops, limit: settings.hops)
        }
        var context = self
        // The write of one message does not lengthen the lineage of another.
        let hops = found.maker == loopGuard?.origin ? found.hops - 1 : found.hops
        if hops > (lineage ?? message.lineage)?.hops ?? 0 {
            context.lineage = Lineage(hops: hops, origin: found.origin)
        }
        return context
    }

    /// Continues the lineage of an object, given its fields as Kii's REST API returns them: with its stamp, and with
    /// its time of modification under `_modified`.
    ///
    /// ```swift
    /// let context = try context.continuing(fields: fields)
    /// context.stamp(&fields)
    /// ```
    ///
    /// Returns and throws as ``continuing(_:modifiedAt:)`` does.
    public func continuing(fields: [String: DataValue]) throws -> HandlerContext {
        try continuing(fields[Lineage.key]?.string, modifiedAt: fields["_modified"]?.milliseconds)
    }

    /// Whether a stamp in an object counts for the message; see ``Lineage``.
    private func counts(_ stamp: Lineage, _ modifiedAt: Int64?) -> Bool {
        // In a Direct Push, these times would be the sender's.
        let told = message.kind == .directPush ? nil : message.modifiedAt ?? message.sentAt
        guard let time = modifiedAt ?? told, stamp.isMade(near: time) else { return false }
        guard let loopGuard else { return true }
        return stamp.maker == loopGuard.origin ? told.map { $0 < time } ?? false : loopGuard.isCurrent(stamp, time)
    }
}
