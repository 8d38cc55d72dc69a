public import KiiPush

extension ObjectWrite {
    /// Whether it would change a record apart from its stamp.
    fileprivate func changes(_ record: ObjectRecord) -> Bool {
        switch self {
        case .create: true
        case .patch(let fields, _): fields.stamped(nil).members.contains { record[$0.key] != $0.value }
        case .replace(let fields, _): fields.stamped(nil) != record.fields.stamped(nil)
        }
    }

    fileprivate func stamped(_ stamp: String) -> ObjectWrite {
        switch self {
        case .create(let fields): .create(fields.stamped(stamp))
        case .replace(let fields, let version): .replace(fields.stamped(stamp), ifMatch: version)
        case .patch(let fields, let version): .patch(fields.stamped(stamp), ifMatch: version)
        }
    }

    /// The same write, limited to a version unless it already names one.
    fileprivate func of(version: String?) -> ObjectWrite {
        switch self {
        case .create: self
        case .replace(let fields, let own): .replace(fields, ifMatch: own ?? version)
        case .patch(let fields, let own): .patch(fields, ifMatch: own ?? version)
        }
    }
}

// A handler's calls to the cloud, which announce, stamp and report each write for the loop guard.
extension HandlerContext {
    /// Writes an object: announces the write, stamps it, and reports its success or failure.
    ///
    /// The write's own event is then dropped here, once, if the guard recognises it: `OwnWrite` of KiiPush has the
    /// conditions. Handlers on other devices see how many handlers it has passed.
    /// If the answer is lost, the write is retried where it cannot happen twice, see ``KiiClient/write(_:_:)``.
    /// Otherwise it counts as failed: its event is handled, unless it came before that and was dropped. If you have
    /// read the object, call ``continuing(_:)`` with the record first.
    ///
    /// - Throws: `LoopRefusal` before anything is sent, or what ``KiiClient/write(_:_:)`` throws.
    @discardableResult
    public func write(_ object: KiiObject, _ write: ObjectWrite, with client: KiiClient) async throws -> Written {
        let announced = try willWrite(object)
        do {
            let written = try await client.write(object, renewingAfter: Self.stampAge) { write.stamped(stamp) }
            announced.done(modifiedAt: written.modifiedAt)
            return written
        } catch {
            announced.failed()
            throw error
        }
    }

    /// Writes an object that the handler has read, unless nothing would change: continues its lineage, announces the
    /// write, stamps it, and reports its success or failure.
    ///
    /// A write without a version is limited to the version that was read, so that no other write is lost. A write that
    /// would change no field is not sent, since it would notify all devices of a change that did not happen; then the
    /// result is nil.
    ///
    /// - Throws: `LineageTooLong` if the object has passed through too many handlers; otherwise the errors of
    ///   ``write(_:_:with:)-(KiiObject,_,_)``.
    @discardableResult
    public func write(_ record: ObjectRecord, _ write: ObjectWrite, with client: KiiClient) async throws -> Written? {
        guard write.changes(record) else { return nil }
        let context = try continuing(record)
        return try await context.write(record.object, write.of(version: record.version), with: client)
    }

    /// The greatest age of a stamp when it is sent: half of its lifetime, since the server needs some time too.
    private static let stampAge = Lineage.lifetime / 2

    /// Deletes an object, or only that version: announces the deletion, and reports its success or failure.
    ///
    /// - Throws: `LoopRefusal` before anything is sent, or what ``KiiClient/perform(_:)`` throws.
    @discardableResult
    public func delete(_ object: KiiObject, ifMatch version: String? = nil, with client: KiiClient) async throws -> Bool
    {
        var wasThere = false
        try await writing(object, changing: .deletion) {
            wasThere = try await client.perform(.deleteObject(object, ifMatch: version))
            return wasThere ? .done() : .nothing
        }
        return wasThere
    }

    /// Sends a push to a topic, with the stamp in its data, where it counts towards the size.
    ///
    /// The sender is the identity whose token the client has, if it is not the client's ``KiiClient/me``. If its answer
    /// is lost, a handler that runs again sends the push twice.
    ///
    /// - Throws: what ``KiiClient/send(_:to:as:)`` throws.
    @discardableResult
    public func send(
        _ message: OutgoingMessage, to topic: KiiTopic, as sender: Sender? = nil, with client: KiiClient
    ) async throws -> PushMessageID {
        try await client.send(to: topic, as: sender, renewingAfter: Self.stampAge) { message.stamped(stamp) }
    }

    /// Throws what ``send(_:to:as:with:)`` throws before anything is sent.
    package func checkSend(_ message: OutgoingMessage, to topic: KiiTopic, as sender: Sender, app: String) throws {
        try CloudRequest.checkedSend(message.stamped(stamp), to: topic, as: sender, app: app).checkPath()
    }

    /// Throws what ``write(_:_:with:)-(KiiObject,_,_)`` throws of the object's id before anything is sent.
    package func checkWrite(_ object: KiiObject) throws { try CloudRequest.readObject(object).checkPath() }

    /// A context whose stamp counts on from that of an object that was read, so that a loop over objects ends too.
    ///
    /// - Throws: `LineageTooLong` if the object has passed through too many handlers; do not catch it in the handler.
    public func continuing(_ record: ObjectRecord) throws -> HandlerContext {
        try continuing(record[Lineage.key]?.string, modifiedAt: record.modifiedAt)
    }
}

extension OutgoingMessage {
    fileprivate func stamped(_ stamp: String) -> OutgoingMessage {
        var stamped = self
        stamped.data = data.stamped(stamp)
        return stamped
    }
}

extension KeyedData {
    fileprivate func stamped(_ stamp: String?) -> KeyedData {
        var fields = self
        fields[Lineage.key] = stamp.map { .string($0) }
        return fields
    }
}

extension HandlerContext {
    /// Reads the object that an event is about, or any other; nil if it does not exist.
    ///
    /// It may be newer than the event. Pass the record to ``write(_:_:with:)-(ObjectRecord,_,_)``, which continues the
    /// object's lineage.
    ///
    /// - Throws: the errors of ``KiiClient/perform(_:)``.
    public func refresh(_ object: KiiObject, with client: KiiClient) async throws -> ObjectRecord? {
        try await client.refresh(object)
    }

    /// Reads a user, such as the sender or the owner of the scope; nil if it does not exist.
    public func refresh(_ user: KiiUser, with client: KiiClient) async throws -> UserRecord? {
        try await client.refresh(user)
    }

    /// Reads a group; nil if it does not exist.
    public func refresh(_ group: KiiGroup, with client: KiiClient) async throws -> GroupRecord? {
        try await client.refresh(group)
    }

    /// Reads a thing; nil if it does not exist.
    public func refresh(_ thing: KiiThing, with client: KiiClient) async throws -> ThingRecord? {
        try await client.refresh(thing)
    }
}
