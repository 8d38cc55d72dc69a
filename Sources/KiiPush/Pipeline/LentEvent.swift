import Synchronization

/// A message that is lent to a handler: its parts are compared and read in place, and a string is made only if the
/// handler asks for one.
///
/// Use it for handlers that run for many messages and keep few of them. The event cannot be copied, and is valid until
/// the handler returns; ``message`` is a copy to keep. Register such a handler with `PushReceiver.onLent`:
///
/// ```swift
/// receiver.onLent(kind: .pushToApp, bucket: "readings") { event in
///     if event.matches(.object, "main") { counter.add(1, ordering: .relaxed) }
/// }
/// ```
public struct LentEvent: ~Copyable, Sendable {
    /// A part of a message that has a text.
    public enum Part: Sendable, Hashable, CaseIterable {
        /// The bucket's name, of a Push to App.
        case bucket
        /// The object's id, of a Push to App.
        case object
        /// The topic's name, of a Push to User.
        case topic
        /// The id of the user, group or thing that the scope names.
        case scopeID
        /// The sender's id.
        case sender
        /// The app that the payload names.
        case app
        /// The name of the event, such as `DATA_OBJECT_UPDATED`, as received: an event with two names matches only one.
        case event
    }

    private(set) var storage: MessageStorage
    /// The storage's buffer, so that reading a part changes no reference count.
    @usableFromInline private(set) var buffer: [UInt8] = []
    /// The route whose handler is called.
    var matched: Route
    private let watch: (any WriteWatch)?
    private let recorder: TraceRecorder?

    /// The message's number in its receiver, as in traces.
    public internal(set) var messageID: UInt64
    /// When the payload arrived, on the receiver's clock.
    public internal(set) var arrivedAt: MonotonicInstant
    /// How many times the handler has been called with the message, including this call: 1 for the first.
    public let attempt: Int

    /// An event that has no message yet.
    init(_ watch: (any WriteWatch)?) {
        storage = MessageStorage()
        matched = Route(id: "", criteria: RouteCriteria(), flow: .stop, handler: .any { _, _ in })
        self.watch = watch
        recorder = nil
        messageID = 0
        arrivedAt = MonotonicInstant(nanoseconds: 0)
        attempt = 1
    }

    init(_ message: PushMessage, _ context: HandlerContext) {
        storage = message.storage
        buffer = message.storage.buffer
        matched = context.matched
        watch = context.watch
        recorder = context.recorder
        messageID = context.messageID
        arrivedAt = context.arrivedAt
        attempt = context.attempt
    }

    /// Reads a payload into the storage of the last message, unless somebody has kept that message.
    @inline(__always)
    mutating func read(_ payload: consuming RawPayload, limits: PayloadLimits) throws(DecodeError) {
        buffer = []
        if isKnownUniquelyReferenced(&storage) {
            // Orders the reads of another task that has released the message before the writes here.
            atomicMemoryFence(ordering: .acquiring)
            try storage.replace(with: payload, limits: limits)
        } else {
            storage = try MessageStorage(payload, limits: limits, app: nil)
        }
        buffer = storage.buffer
    }

    /// The route that called the handler.
    public var route: String { matched.id }

    // MARK: What it is

    /// The kind of push.
    public var kind: PushKind { storage.classified.kind }
    /// The certainty of the kind.
    public var certainty: Certainty { storage.certainty }
    /// The type of the scope that the payload states.
    public var scopeKind: MessageScope.Kind { storage.classified.scopeKind }
    /// When the push was made, in milliseconds since 1970; nil if the payload does not say.
    public var sentAt: Int64? { storage.fields.when }
    /// When the object was modified, in milliseconds since 1970; nil if the payload does not say.
    public var modifiedAt: Int64? { storage.fields.modifiedAt }

    // MARK: Its texts

    /// Whether a part exists and equals `text`, to the byte.
    public func matches(_ part: Part, _ text: String) -> Bool {
        let token = token(part)
        return token.isPresent && buffer.span.matches(token.range, text)
    }

    /// Lends the UTF-8 bytes of a part.
    ///
    /// - Parameters:
    ///   - part: which one.
    ///   - body: called once with the bytes, which are valid until it returns.
    /// - Returns: the result of `body`; nil if the message does not have the part.
    /// - Throws: what `body` throws.
    @inlinable
    public func withBytes<Result, Failure: Error>(
        of part: Part, _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        // Inlinable, because another module would otherwise handle the result by its type at run time.
        guard let range = range(of: part) else { return nil }
        return try body(buffer.span.extracting(range))
    }

    /// The range of a part in the buffer; nil if the message does not have it.
    @usableFromInline
    func range(of part: Part) -> Range<Int>? {
        let token = token(part)
        return token.isPresent ? token.range : nil
    }

    /// A part as a string; nil if the message does not have it.
    public func text(_ part: Part) -> String? {
        let token = token(part)
        return token.isPresent ? storage.string(token) : nil
    }

    private func token(_ part: Part) -> JSONToken {
        switch part {
        case .bucket: storage.classified.bucket
        case .object: storage.classified.object
        case .topic: storage.classified.topic
        case .scopeID: storage.classified.scopeID
        case .sender: storage.classified.sender
        case .app: storage.classified.app
        case .event: storage.fields[.type]
        }
    }

    // MARK: To keep

    /// The message, to keep; it shares the payload's buffer, which is then not reused.
    public var message: PushMessage { PushMessage(storage: storage) }

    /// The context to declare a write or to stamp a message with.
    public var context: HandlerContext {
        HandlerContext(
            message, id: messageID, arrivedAt: arrivedAt, attempt: attempt, matched, watch, recorder)
    }
}
