/// A decoded push: its kind, and all of Kii's information about it.
///
/// The counterpart of `KiiReceivedMessage`, for payloads of any transport. Copies share one buffer: a copy costs a
/// reference count, and each access to a string makes a new one. ``PushReceiver`` makes messages for handlers; make one
/// yourself to inspect a payload without a receiver:
///
/// ```swift
/// let message = try PushMessage(RawPayload(bytes, transport: .mqtt))
/// ```
public struct PushMessage: Sendable {
    package let storage: MessageStorage

    /// Decodes and classifies a payload.
    ///
    /// - Parameters:
    ///   - payload: the payload as received.
    ///   - limits: the limits of size and nesting.
    ///   - app: the expected app; a payload that names another has the conflict `appID`.
    ///   - formats: the formats of other systems.
    /// - Throws: ``DecodeError`` if it is neither a JSON object within the limits, with each key once, nor of a format.
    public init(
        _ payload: consuming RawPayload, limits: PayloadLimits = .standard, app: String? = nil,
        formats: PayloadFormats = .shipped
    ) throws(DecodeError) {
        storage = try MessageStorage(payload, limits: limits, app: app, formats: formats)
    }

    /// The payload as received; the counterpart of `rawMessage`.
    public var raw: RawPayload { storage.raw }

    /// The payload as one JSON object, without its envelope: the dictionary of `rawMessage`.
    ///
    /// It contains Kii's keys, `aps`, the sender's data and the keys that a network added. Each access reads the
    /// payload again.
    public var rawObject: DataValue {
        let buffer = storage.buffer
        return DataValue(buffer.span, JSONToken(.object, 0, storage.payloadRange.count))
    }

    // MARK: What it is

    /// The kind of push.
    public var kind: PushKind { storage.classified.kind }

    /// The certainty of the kind.
    public var certainty: Certainty { storage.certainty }

    /// The key style of the payload.
    public var dialect: Dialect { storage.dialect }

    /// The name of the ``PayloadFormat`` that has claimed the payload, if one has; ``ForeignPushMessage`` has what it
    /// read.
    public var format: String? { storage.foreign?.format }

    /// The kind, its certainty, and the evidence for and against it.
    public var classification: Classification {
        let fields = KiiField.allCases.filter { storage.classified.evidence.contains($0) }
        let evidence = fields.map { dialect.hasShortKeys ? $0.shortName : $0.longName }
        let others = storage.isCommand ? ThingCommand.evidence : storage.foreign?.evidence ?? []
        var conflicts = storage.classified.conflictSet.conflicts(in: storage.fields)
        if let foreign = storage.foreign, !foreign.rivals.isEmpty {
            let formats = ([foreign.format] + foreign.rivals).joined(separator: ", ")
            conflicts.append(Conflict(name: "format", reason: "several formats claim the payload: \(formats)"))
        }
        return Classification(kind: kind, certainty: certainty, evidence: evidence + others, conflicts: conflicts)
    }

    // MARK: Fields

    /// A field of Kii's as text, the counterpart of `getValueOfKiiMessageField:`; nil if missing, blank or of a wrong
    /// type.
    public subscript(field: KiiField) -> String? {
        let token = storage.fields[field]
        return token.isPresent ? storage.string(token) : nil
    }

    /// What happened in the bucket; in another kind of push, any text of the sender.
    public var event: KiiEvent? { self[.type].map { KiiEvent($0) } }

    /// When the push was made, in milliseconds since 1970.
    public var sentAt: Int64? { storage.foreign?.push.sentAt ?? storage.fields.when }

    /// When the push is no longer of use, in milliseconds since 1970; only a ``PayloadFormat`` reads such a time.
    public var expiresAt: Int64? { storage.foreign?.push.expiresAt }

    /// When the object was modified, in milliseconds since 1970; nil if the payload does not say.
    ///
    /// Kii documents the key `om` for APNs, but none of its samples over APNs has it.
    public var modifiedAt: Int64? { storage.fields.modifiedAt }

    /// The app that the payload names: its scope's, else the one that sent it.
    public var appID: String? {
        storage.classified.app.isPresent ? storage.string(storage.classified.app) : nil
    }

    // MARK: What it is about

    /// The scope that the payload states; the counterpart of `messageScope`.
    public var scope: MessageScope {
        let (kind, id) = (storage.classified.scopeKind, storage.classified.scopeID)
        return MessageScope(
            kind: kind, typeName: KiiScope(kind, id: "")?.typeName ?? self[.scopeType],
            id: id.isPresent ? storage.string(id) : nil)
    }

    /// The bucket of a Push to App; the counterpart of `containsKiiBucket` and `eventSourceBucket`.
    ///
    /// Nil if the scope is unknown or incomplete, or no bucket is named; the message may still be a Push to App.
    public var bucket: KiiBucket? {
        // One span for all its strings: each access to the buffer is counted as one reference more.
        let buffer = storage.buffer
        let text = buffer.span
        guard storage.classified.hasBucket, let owner = owner(text) else { return nil }
        var type: KiiBucketType?
        if storage.classified.bucketIsEncrypted {
            type = .crypto
        } else if storage.fields[.bucketType].isPresent {
            // Nearly all have this type, and making a string costs more than a comparison.
            let isPlain = text.matches(storage.fields[.bucketType].range, KiiBucketType.readWrite.rawName)
            type = isPlain ? .readWrite : KiiBucketType(storage.string(storage.fields[.bucketType]))
        }
        return KiiBucket(scope: owner, name: text.string(storage.classified.bucket.range), type: type)
    }

    /// The object of a Push to App; the counterpart of `containsKiiObject` and `eventSourceObject`.
    public var object: KiiObject? { ObjectEvent(self)?.object }

    /// The topic of a Push to User; the counterpart of `containsKiiTopic` and `eventSourceTopic`.
    public var topic: KiiTopic? {
        let buffer = storage.buffer
        let text = buffer.span
        guard storage.classified.hasTopic, let owner = owner(text) else { return nil }
        return KiiTopic(scope: owner, name: text.string(storage.classified.topic.range))
    }

    private func owner(_ text: Span<UInt8>) -> KiiScope? {
        KiiScope(storage.classified.scopeKind, id: text.string(storage.classified.scopeID.range))
    }

    /// The user who owns the scope, not the sender; the counterpart of `eventSourceUser`.
    public var scopeUser: KiiUser? { if case .user(let user)? = scope.owner { user } else { nil } }

    /// The group that owns the scope; the counterpart of `eventSourceGroup`.
    public var scopeGroup: KiiGroup? { if case .group(let group)? = scope.owner { group } else { nil } }

    /// The thing that owns the scope, not the sender; the counterpart of `eventSourceThing`.
    public var scopeThing: KiiThing? { if case .thing(let thing)? = scope.owner { thing } else { nil } }

    // MARK: Who sent it

    /// Who caused the push; nil if the payload does not say, as in Kii's samples of a Push to App over APNs.
    public var sender: Sender? {
        let id = storage.classified.sender
        return switch storage.classified.senderKind {
        case .none: nil
        case .user: .user(id: storage.string(id))
        case .thing: .thing(id: storage.string(id))
        case .admin: .admin(storage.string(id))
        }
    }

    /// The sender, if it is a user; the counterpart of `senderUser`.
    public var senderUser: KiiUser? { if case .user(let user)? = sender { user } else { nil } }

    /// The sender, if it is a thing; the counterpart of `senderThing`.
    public var senderThing: KiiThing? { if case .thing(let thing)? = sender { thing } else { nil } }

    // MARK: What it says

    /// The text that the push shows, by Apple's dictionary or a format; `alert?.body` is the counterpart of
    /// `getAlertBody`.
    public var alert: Alert? { aps?.alert ?? storage.foreign?.push.alert }

    /// Apple's dictionary, if the payload has one, or a ``PayloadFormat`` has read what corresponds to it.
    public var aps: AppleDictionary? { AppleDictionary(storage) }

    /// The sender's own data: every root key that is not Kii's, Apple's or the network's.
    public var data: MessageData { MessageData(storage: storage) }
}
