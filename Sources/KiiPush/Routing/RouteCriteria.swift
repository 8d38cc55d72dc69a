/// What a message must be for a route to take it; every part that is set must hold.
///
/// A pure function of the message, so that routes can be looked up before the chain, and explained.
struct RouteCriteria: Sendable, Hashable {
    /// The kind; nil takes any.
    var kind: PushKind?
    var bucket: TextPattern?
    var object: TextPattern?
    var topic: TextPattern?
    var scope: ScopePattern?
    var events: [KiiEvent]?
    var sender: SenderPattern?
    var certainty: [Certainty] = [.certain, .likely]

    /// Whether all but the certainty holds.
    // Inlined, since a call would copy all the criteria, with a reference count for each.
    @inline(__always)
    func matchesContent(_ text: Span<UInt8>, _ storage: MessageStorage) -> Bool {
        let reading = storage.reading
        if let kind, kind != reading.kind { return false }
        if let bucket, !reading.hasBucket || !bucket.matches(text, reading.bucket.range) { return false }
        if let object, !reading.hasObject || !object.matches(text, reading.object.range) { return false }
        if let topic, !reading.hasTopic || !topic.matches(text, reading.topic.range) { return false }
        if let scope, !scope.matches(text, reading) { return false }
        if let events {
            let type = storage.fields[.type]
            guard type.isPresent, events.contains(where: { text.matches(type.range, $0.name) }) else { return false }
        }
        if let sender, !sender.matches(text, reading) { return false }
        return true
    }
}

extension RouteCriteria {
    /// Whether a Push to App about a bucket could meet the criteria, as far as they ask for kind, bucket and scope.
    func mayTake(_ wanted: KiiBucket) -> Bool {
        guard kind == nil || kind == .pushToApp, topic == nil else { return false }
        if let bucket, !bucket.matches(wanted.name) { return false }
        return scope?.matches(wanted.scope) ?? true
    }
}
