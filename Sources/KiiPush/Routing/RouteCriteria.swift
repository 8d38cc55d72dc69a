/// What a message must be for a route to take it; every part that is set must hold.
///
/// A pure function of the message, so that routes can be looked up before the chain, and explained.
struct RouteCriteria: Sendable, Hashable {
    var kinds: KindSet
    var bucket: TextPattern?
    var object: TextPattern?
    var topic: TextPattern?
    var scope: ScopePattern?
    /// The id of the scope, of whichever type it is.
    var scopeID: TextPattern?
    /// By documented names: an event that has two is filed under one of them.
    var events: TextPattern? { didSet { events = events?.withDocumentedEvents } }
    var sender: SenderPattern?
    var transport: TextPattern?
    var certainty: [Certainty]
    /// Judged last, since they read the payload again.
    var data: [DataCondition]

    init(
        kind: PushKind? = nil, bucket: TextPattern? = nil, object: TextPattern? = nil, topic: TextPattern? = nil,
        scope: ScopePattern? = nil, events: [KiiEvent]? = nil, sender: SenderPattern? = nil,
        certainty: [Certainty] = [.certain, .likely], data: [DataCondition] = []
    ) {
        kinds = kind.map { KindSet($0) } ?? .all
        self.bucket = bucket
        self.object = object
        self.topic = topic
        self.scope = scope
        self.events = events.map { .anyOf($0.map { .exactly($0.documentedName) }) }
        self.sender = sender
        self.certainty = certainty
        self.data = data
    }

    /// The kind; nil takes several.
    var kind: PushKind? {
        get { kinds.only }
        set { kinds = newValue.map { KindSet($0) } ?? .all }
    }

    /// Whether all but the certainty holds.
    // Inlined, since a call would copy all the criteria, with a reference count for each.
    @inline(__always)
    func matchesContent(_ text: Span<UInt8>, _ storage: MessageStorage) -> Bool {
        let reading = storage.reading
        guard kinds.contains(KindSet(reading.kind)) else { return false }
        if let bucket, !reading.hasBucket || !bucket.matches(text, reading.bucket.range) { return false }
        if let object, !reading.hasObject || !object.matches(text, reading.object.range) { return false }
        if let topic, !reading.hasTopic || !topic.matches(text, reading.topic.range) { return false }
        if let scope, !scope.matches(text, storage) { return false }
        if let scopeID, !reading.scopeID.isPresent || !scopeID.matches(text, reading.scopeID.range) { return false }
        if let events {
            let type = storage.fields[.type]
            guard type.isPresent, events.matchesEvent(text, type.range) else { return false }
        }
        if let sender, !sender.matches(text, reading) { return false }
        if let transport, !transport.matches(storage.transport) { return false }
        return data.isEmpty || data.hold(storage)
    }
}

extension RouteCriteria {
    /// Whether a Push to App about a bucket could meet the criteria, as far as they ask for kind, bucket and scope.
    func mayTake(_ wanted: KiiBucket) -> Bool {
        guard kinds.contains(KindSet(.pushToApp)), topic == nil else { return false }
        if let bucket, !bucket.matches(wanted.name) { return false }
        if let scopeID, !(wanted.scope.id.map { scopeID.matches($0) } ?? false) { return false }
        return scope?.matches(wanted.scope) ?? true
    }
}

/// Some of the three kinds.
struct KindSet: OptionSet, Hashable {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ kind: PushKind) { rawValue = 1 << UInt8(truncatingIfNeeded: kind.tableIndex) }

    static let all: KindSet = [KindSet(.pushToApp), KindSet(.pushToUser), KindSet(.directPush)]

    /// The kinds, in order.
    var kinds: [PushKind] { PushKind.allCases.filter { contains(KindSet($0)) } }

    /// The only kind, if it is one.
    var only: PushKind? { rawValue.nonzeroBitCount == 1 ? kinds.first : nil }
}

extension TextPattern {
    /// Whether `range` holds the name of an event that matches, by either name of an event that has two.
    @inline(__always)
    fileprivate func matchesEvent(_ text: Span<UInt8>, _ range: Range<Int>) -> Bool {
        if matches(text, range) { return true }
        return KiiEvent.isOtherName(text, range) && matches(KiiEvent.objectBodyUpdated.name)
    }

    /// The pattern with the documented name of each event that it names without a star.
    fileprivate var withDocumentedEvents: TextPattern {
        TextPattern(
            alternatives.map { alternative in
                guard case .exactly(let name) = alternative else { return alternative }
                return .exactly(KiiEvent(name).documentedName)
            })
    }
}
