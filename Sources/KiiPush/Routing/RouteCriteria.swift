/// The conditions of a route, which are a pure function of the message; every one that is set must hold.
package struct RouteCriteria: Sendable, Hashable {
    package var kinds: KindSet
    package var bucket: TextPattern?
    package var object: TextPattern?
    package var topic: TextPattern?
    package var scope: ScopePattern?
    /// The id of the scope, of whichever type it is.
    package var scopeID: TextPattern?
    /// By documented names: an event with two names is stored under one of them.
    package var events: TextPattern? { didSet { events = events?.withDocumentedEvents } }
    package var sender: SenderPattern?
    package var transport: TextPattern?
    package var mqtt: MQTTPattern?
    /// Whether it is for gaps, and for no other message.
    package var isGap = false
    package var format: TextPattern?
    /// The type that its format has read.
    package var type: TextPattern?
    /// The actions of a command; one that takes anything matches every Direct Push whose sender waits for an answer.
    package var command: TextPattern?
    package var certainty: [Certainty]
    /// Tested late, because they read the payload again.
    package var data: [DataCondition]
    /// Combined conditions, which only rules have.
    package var groups: [ConditionGroup] = []

    package init(
        kind: PushKind? = nil, bucket: TextPattern? = nil, object: TextPattern? = nil, topic: TextPattern? = nil,
        scope: ScopePattern? = nil, events: [KiiEvent]? = nil, sender: SenderPattern? = nil,
        mqtt: MQTTPattern? = nil, certainty: [Certainty] = [.certain, .likely], data: [DataCondition] = []
    ) {
        kinds = kind.map { KindSet($0) } ?? .all
        (self.bucket, self.object, self.topic, self.scope, self.sender) = (bucket, object, topic, scope, sender)
        (self.mqtt, self.certainty, self.data) = (mqtt, certainty, data)
        self.events = events.map { .anyOf($0.map { .exactly($0.documentedName) }) }
    }

    /// The kinds that can match: only a Direct Push is of a format, or a command.
    package var possibleKinds: KindSet {
        format == nil && type == nil && command == nil ? kinds : kinds.intersection(KindSet(.directPush))
    }

    /// Whether all but the certainty holds.
    package func matchesContent(_ text: Span<UInt8>, _ storage: MessageStorage) -> Bool {
        let classified = storage.classified
        guard kinds.contains(KindSet(classified.kind)) else { return false }
        if let bucket, !classified.hasBucket || !bucket.matches(text, classified.bucket.range) { return false }
        if let object, !classified.hasObject || !object.matches(text, classified.object.range) { return false }
        if let topic, !classified.hasTopic || !topic.matches(text, classified.topic.range) { return false }
        if let scope, !scope.matches(text, storage) { return false }
        if let scopeID, !classified.scopeID.isPresent || !scopeID.matches(text, classified.scopeID.range) {
            return false
        }
        if let events {
            let type = storage.fields[.type]
            guard type.isPresent, events.matchesEvent(text, type.range) else { return false }
        }
        if let sender, !sender.matches(text, classified) { return false }
        if let transport, !transport.matches(some: storage.routedTransport?.name) { return false }
        if let mqtt, !mqtt.matches(storage.mqtt) { return false }
        if let format, !format.matches(some: storage.foreign?.format) { return false }
        if let type, !type.matches(some: storage.foreign?.push.type) { return false }
        if let command, !command.matchesCommand(storage) { return false }
        if !data.isEmpty, !data.hold(storage) { return false }
        return groups.isEmpty || groups.allSatisfy { $0.matches(text, storage) }
    }
}

/// Conditions that are combined by `any`, `all` or `not`.
package struct ConditionGroup: Sendable, Hashable {
    package enum Operator: String, Sendable, CaseIterable {
        /// One of the parts must hold.
        case any
        /// Every part must hold.
        case all
        /// The only part must not hold.
        case not
    }

    package let combining: Operator
    /// Each holds if all that is in it holds; their certainty does not count.
    package let parts: [RouteCriteria]

    package init(_ combining: Operator, _ parts: [RouteCriteria]) {
        self.combining = combining
        self.parts = parts
    }

    fileprivate func matches(_ text: Span<UInt8>, _ storage: MessageStorage) -> Bool {
        switch combining {
        case .any: parts.contains { $0.matchesContent(text, storage) }
        case .all: parts.allSatisfy { $0.matchesContent(text, storage) }
        case .not: !parts.allSatisfy { $0.matchesContent(text, storage) }
        }
    }
}

extension RouteCriteria {
    /// Whether a Push to App about a bucket could match, by kind, bucket and scope.
    package func mayTake(_ wanted: KiiBucket) -> Bool {
        guard possibleKinds.contains(KindSet(.pushToApp)), topic == nil, !isGap else { return false }
        if let bucket, !bucket.matches(wanted.name) { return false }
        if let scopeID, !(wanted.scope.id.map { scopeID.matches($0) } ?? false) { return false }
        return scope?.matches(wanted.scope) ?? true
    }
}

package struct KindSet: OptionSet, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package init(_ kind: PushKind) { rawValue = 1 << UInt8(truncatingIfNeeded: kind.tableIndex) }

    package static let all: KindSet = [KindSet(.pushToApp), KindSet(.pushToUser), KindSet(.directPush)]
    package var kinds: [PushKind] { PushKind.allCases.filter { contains(KindSet($0)) } }
}

extension TextPattern {
    /// Whether it is a Thing-IF command with a matching action, or a request over MQTT, whose action nobody knows.
    fileprivate func matchesCommand(_ storage: MessageStorage) -> Bool {
        guard storage.classified.kind == .directPush else { return false }
        if storage.isCommand, let command = ThingCommand(storage.member) {
            return command.actions.contains { matches($0.name) }
        }
        return storage.isRequest && takesAnything
    }

    /// Whether `range` holds the name of an event that matches, by either name of an event with two.
    fileprivate func matchesEvent(_ text: Span<UInt8>, _ range: Range<Int>) -> Bool {
        if matches(text, range) { return true }
        return KiiEvent.isOtherName(text, range) && matches(KiiEvent.objectBodyUpdated.name)
    }

    /// The pattern with the documented name of each event that it names without `*`.
    fileprivate var withDocumentedEvents: TextPattern {
        TextPattern(
            alternatives.map { alternative in
                guard case .exactly(let name) = alternative else { return alternative }
                return .exactly(KiiEvent(name).documentedName)
            })
    }
}
