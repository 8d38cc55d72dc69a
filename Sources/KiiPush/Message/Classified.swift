/// Decides a message's kind from the evidence, resolves its handles, and records every contradiction.
///
/// App comes before User before Direct, as in Kii's own parsers; unlike them, it reports the evidence for and against.
/// Everything is a position in the buffer: no string is made here.
package struct Classified {
    private(set) var kind = PushKind.directPush
    private(set) var evidence: FieldSet = []
    private(set) var conflictSet: ConflictSet = []

    private(set) var scopeKind = MessageScope.Kind.unknown
    private(set) var scopeID = JSONToken.absent
    private(set) var bucket = JSONToken.absent
    private(set) var bucketIsEncrypted = false
    private(set) var object = JSONToken.absent
    private(set) var topic = JSONToken.absent
    private(set) var senderKind = SenderKind.none
    private(set) var sender = JSONToken.absent
    /// The app that the payload names: its scope's, else the one that sent it.
    private(set) var app = JSONToken.absent
    private(set) var handles: HandleSet = []

    package enum SenderKind: UInt8 {
        case none
        case user
        case thing
        case admin
    }

    /// Reads the fields of one payload, once.
    // Not an initialiser, which would build the value elsewhere and copy it.
    mutating func read(_ text: Span<UInt8>, _ fields: FieldTable, _ dialect: Dialect) {
        let source = Self.uri(text, fields[.sourceURI])
        let sendersURI = Self.uri(text, fields[.senderURI])
        judgeKind(text, fields, dialect, source, sendersURI)
        readScope(text, fields)
        if kind == .pushToApp { (bucket, object) = (fields[.bucketID], fields[.objectID]) }
        if kind == .pushToUser { topic = fields[.topic] }
        if let source {
            compare(text, fields, source)
            if conflictSet.isDisjoint(with: .ofSource) { fill(from: source) }
        }
        readSender(text, fields, sendersURI)
        app = fields[.scopeAppID].isPresent ? fields[.scopeAppID] : fields[.appID]
        if !app.isPresent, let range = source?.app { app = JSONToken(range) }
        noteHandles()
    }

    private static func uri(_ text: Span<UInt8>, _ token: JSONToken) -> KiiURIParts? {
        token.isPresent ? KiiURIParts(text, token.range) : nil
    }

    // MARK: Kind

    private mutating func judgeKind(
        _ text: Span<UInt8>, _ fields: FieldTable, _ dialect: Dialect, _ source: KiiURIParts?,
        _ sendersURI: KiiURIParts?
    ) {
        let isEvent = text.matches(fields[.origin].range, "EVENT")
        var forApp = fields.present.intersection(.bucketKeys)
        if dialect.hasShortKeys {
            forApp.formUnion(fields.present.intersection(.objectKeys))
        } else if isEvent {
            forApp.insert(.origin)
        }
        var forUser = fields.present.intersection(FieldSet(.topic))
        var forDirect: FieldSet = []
        let keysSay: PushKind? = !forApp.isEmpty ? .pushToApp : !forUser.isEmpty ? .pushToUser : nil

        let sourceSays = source?.kindOfPush
        if let sourceSays {
            if let keysSay, keysSay != sourceSays { conflictSet.insert(.sourceKind) }
            switch sourceSays {
            case .pushToApp: forApp.insert(.sourceURI)
            case .pushToUser: forUser.insert(.sourceURI)
            case .directPush: forDirect.insert(.sourceURI)
            }
        }
        if let sendersURI, sendersURI.isAdmin { forDirect.insert(.senderURI) }

        (kind, evidence) =
            !forApp.isEmpty
            ? (.pushToApp, forApp) : !forUser.isEmpty ? (.pushToUser, forUser) : (.directPush, forDirect)
        noteKeysOfOtherKinds(fields)
        noteOrigin(text, fields, isEvent: isEvent, forApp: forApp)
    }

    private mutating func noteKeysOfOtherKinds(_ fields: FieldTable) {
        switch kind {
        case .pushToApp:
            if fields[.topic].isPresent { conflictSet.insert(.topicBesideBucket) }
        case .pushToUser:
            if fields[.objectID].isPresent { conflictSet.insert(.objectWithoutBucket) }
            if fields[.objectModifiedAt].isPresent { conflictSet.insert(.modifiedAtWithoutBucket) }
        // Only the scope of an owner contradicts; see `judgeByScope`.
        case .directPush: break
        }
    }

    /// Whether a payload may be of another system than Kii: it has no evidence for Kii, or a topic alone, which is a
    /// likely key of others.
    func mayBeForeign(_ fields: FieldTable) -> Bool {
        switch kind {
        case .directPush: !isKiis(fields)
        case .pushToUser: fields.present.isSubset(of: .ofOthers)
        case .pushToApp: false
        }
    }

    func isKiis(_ fields: FieldTable) -> Bool {
        !evidence.isEmpty || !fields.present.isDisjoint(with: .scopeKeys)
    }

    /// Judges a Direct Push by its scope, which Kii sends only with buckets and topics.
    ///
    /// The scope of a user, a group or a thing is evidence for a Push to User without its topic: everybody who may send
    /// to a topic can omit that, so such a push must not pass for an administrator's. The app's scope is none, because
    /// only the app's developer can send to the topics of the app, as to a user directly.
    mutating func judgeByScope(_ fields: FieldTable, isCommand: Bool) {
        let isOwned = scopeKind == .user || scopeKind == .group || scopeKind == .thing
        let hasType = fields.present.contains(.scopeType)
        let namesOwner = !fields.present.isDisjoint(with: .scopeOwners)
        // The app's scope, whatever ids stand beside it, or none.
        if scopeKind == .app || !hasType && !namesOwner { return }
        guard !isCommand, evidence.isEmpty, isOwned || !hasType else {
            conflictSet.insert(.scopeOnDirectPush)
            return
        }
        kind = .pushToUser
        evidence = fields.present.intersection(.scopeKeys)
        noteKeysOfOtherKinds(fields)
    }

    private mutating func noteOrigin(
        _ text: Span<UInt8>, _ fields: FieldTable, isEvent: Bool, forApp: FieldSet
    ) {
        guard fields[.origin].isPresent else { return }
        let forBucket = forApp.subtracting(FieldSet(.origin))
        if isEvent {
            // With long keys, EVENT alone makes a Push to App, and contradicts a topic; with short keys, it always
            // contradicts.
            let contradicts = !evidence.contains(.origin) || fields[.topic].isPresent
            if forBucket.isEmpty, contradicts { conflictSet.insert(.eventWithoutBucket) }
        } else if !forBucket.isEmpty, text.matches(fields[.origin].range, "EXPLICIT") {
            conflictSet.insert(.explicitWithBucket)
        }
    }

    // MARK: Scope and handles

    private mutating func readScope(_ text: Span<UInt8>, _ fields: FieldTable) {
        let type = fields[.scopeType]
        guard type.isPresent else { return }
        if text.matches(type.range, "APP_AND_USER") {
            (scopeKind, scopeID) = (.user, fields[.scopeUserID])
        } else if text.matches(type.range, "APP_AND_THING") {
            (scopeKind, scopeID) = (.thing, fields[.scopeThingID])
        } else if text.matches(type.range, "APP_AND_GROUP") {
            (scopeKind, scopeID) = (.group, fields[.scopeGroupID])
        } else if text.matches(type.range, "APP") {
            scopeKind = .app
        }
    }

    var scopeIsComplete: Bool { scopeKind == .app || scopeKind != .unknown && scopeID.isPresent }

    private mutating func noteHandles() {
        guard scopeIsComplete else { return }
        // Only a Push to App has read a bucket, and only a Push to User a topic.
        if bucket.isPresent { handles = object.isPresent ? [.bucket, .object] : .bucket }
        if topic.isPresent { handles = .topic }
    }

    var hasBucket: Bool { handles.contains(.bucket) }
    package var hasObject: Bool { handles.contains(.object) }
    var hasTopic: Bool { handles.contains(.topic) }

    // MARK: The source URI against the keys

    private mutating func compare(_ text: Span<UInt8>, _ fields: FieldTable, _ source: KiiURIParts) {
        func differs(_ token: JSONToken, _ range: Range<Int>) -> Bool {
            token.isPresent && !text.matches(token.range, in: text, range)
        }
        // A URI without a bucket or a topic is a recipient, not a source.
        guard source.resource != .none else { return }
        if let app = source.app, differs(fields[.scopeAppID], app) { conflictSet.insert(.sourceScope) }
        if fields[.scopeType].isPresent {
            if scopeKind != source.scopeKind || differs(scopeID, source.ownerID) { conflictSet.insert(.sourceScope) }
        } else if let key = source.scopeKind.ownerField, differs(fields[key], source.ownerID) {
            conflictSet.insert(.sourceScope)
        }
        switch (kind, source.resource) {
        case (.pushToApp, .bucket):
            let type = fields[.bucketType]
            let isPlain = source.isEncrypted && type.isPresent && KiiBucketType(text.string(type.range)) != .crypto
            if isPlain || differs(bucket, source.name) { conflictSet.insert(.sourceBucket) }
            if let id = source.object, differs(object, id) { conflictSet.insert(.sourceObject) }
        case (.pushToUser, .topic):
            if differs(topic, source.name) { conflictSet.insert(.sourceTopic) }
        default: break
        }
    }

    /// Fills in the parts that the keys leave out, from a URI that contradicts none of them.
    private mutating func fill(from source: KiiURIParts) {
        guard source.resource != .none else { return }
        if scopeKind == .unknown {
            scopeKind = source.scopeKind
            if source.scopeKind != .app { scopeID = JSONToken(source.ownerID) }
        } else if scopeKind != .app, !scopeID.isPresent {
            scopeID = JSONToken(source.ownerID)
        }
        // Without a contradiction, it is the bucket of a Push to App, or the topic of a Push to User.
        if source.resource == .bucket {
            if !bucket.isPresent { bucket = JSONToken(source.name) }
            if source.isEncrypted { bucketIsEncrypted = true }
            if !object.isPresent, let id = source.object { object = JSONToken(id) }
        } else if !topic.isPresent {
            topic = JSONToken(source.name)
        }
    }

    // MARK: Sender

    private mutating func readSender(
        _ text: Span<UInt8>, _ fields: FieldTable, _ sendersURI: KiiURIParts?
    ) {
        if let uri = sendersURI, uri.resource == .none {
            if uri.isAdmin { senderKind = .admin }
            if uri.scopeKind == .user { senderKind = .user }
            if uri.scopeKind == .thing { senderKind = .thing }
            if senderKind != .none {
                sender = JSONToken(uri.ownerID)
                return
            }
        }
        guard fields[.sender].isPresent else { return }
        sender = fields[.sender]
        senderKind = text.begins(sender.range, with: "th.") ? .thing : .user
    }

    mutating func compare(_ text: Span<UInt8>, toApp name: String) {
        if app.isPresent, !text.matches(app.range, name) { conflictSet.insert(.otherApp) }
    }
}

struct HandleSet: OptionSet {
    let rawValue: UInt8
    static let bucket = HandleSet(rawValue: 1)
    static let object = HandleSet(rawValue: 2)
    static let topic = HandleSet(rawValue: 4)
}

extension JSONToken {
    fileprivate init(_ range: Range<Int>) { self.init(.string, range.lowerBound, range.upperBound) }
}

extension KiiURIParts {
    fileprivate var kindOfPush: PushKind? {
        switch resource {
        case .bucket: .pushToApp
        case .topic: .pushToUser
        case .none: scopeKind == .user ? .directPush : nil
        }
    }
}

extension MessageScope.Kind {
    var ownerField: KiiField? {
        switch self {
        case .user: .scopeUserID
        case .group: .scopeGroupID
        case .thing: .scopeThingID
        case .app, .unknown: nil
        }
    }
}

extension Sender {
    package var kind: Classified.SenderKind {
        switch self {
        case .user: .user
        case .thing: .thing
        case .admin: .admin
        }
    }
}
