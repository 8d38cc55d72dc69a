public import KiiPush

/// A write of an object's fields.
public enum ObjectWrite: Sendable, Hashable {
    /// Creates the object; refused when there is one already.
    case create(KeyedData)
    /// Puts fields in the place of all that the object has; only of that version, if one is named.
    case replace(KeyedData, ifMatch: String? = nil)
    /// Changes some fields; only of that version, if one is named.
    case patch(KeyedData, ifMatch: String? = nil)
}

extension ObjectWrite {
    /// Whether it would change an object that was read, beside its stamp.
    fileprivate func changes(_ record: ObjectRecord) -> Bool {
        switch self {
        case .create: true
        case .patch(let fields, _): fields.unstamped.members.contains { record[$0.key] != $0.value }
        case .replace(let fields, _): fields.unstamped != record.fields.unstamped
        }
    }

    /// The same with the stamp of a handler among the fields.
    fileprivate func stamped(_ stamp: String) -> ObjectWrite {
        switch self {
        case .create(let fields): .create(fields.stamped(stamp))
        case .replace(let fields, let version): .replace(fields.stamped(stamp), ifMatch: version)
        case .patch(let fields, let version): .patch(fields.stamped(stamp), ifMatch: version)
        }
    }

    /// The same, of a version where it names none.
    fileprivate func of(version: String?) -> ObjectWrite {
        switch self {
        case .create: self
        case .replace(let fields, let own): .replace(fields, ifMatch: own ?? version)
        case .patch(let fields, let own): .patch(fields, ifMatch: own ?? version)
        }
    }
}

// What a handler does to the cloud, with its duties to the loop guard done: it cannot forget to announce, to stamp or
// to report.
extension HandlerContext {
    /// Writes an object: announces the write, stamps it, and reports it done or failed.
    ///
    /// The write's own event is then dropped here, and other devices' handlers see through how many it has come. A
    /// write whose answer is lost is made again where it cannot happen twice, see ``KiiClient/write(_:_:)``. Otherwise
    /// it counts as failed: its event, if it comes, is handled. Call ``continuing(_:)`` with the record first, if you
    /// have read the object.
    ///
    /// - Parameters:
    ///   - object: the object.
    ///   - write: what to do to it.
    ///   - client: what makes the call.
    /// - Returns: what the server answered.
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

    /// Writes an object that the handler has read, if that would change it: goes on with its lineage, then announces
    /// the write, stamps it, and reports it done or failed.
    ///
    /// A write that names no version is made to the version that was read, so that nobody else's write is lost. One
    /// that would leave every field as it was read is not sent: it would tell all devices of a change that is none.
    ///
    /// - Parameters:
    ///   - record: the object as it was read.
    ///   - write: what to do to it.
    ///   - client: what makes the call.
    /// - Returns: what the server answered; nil when nothing was to be changed, and so nothing was sent.
    /// - Throws: `LineageTooLong` when the object has come through too many handlers; otherwise what
    ///   ``write(_:_:with:)-(KiiObject,_,_)`` throws.
    @discardableResult
    public func write(_ record: ObjectRecord, _ write: ObjectWrite, with client: KiiClient) async throws -> Written? {
        guard write.changes(record) else { return nil }
        let context = try continuing(record)
        return try await context.write(record.object, write.of(version: record.version), with: client)
    }

    /// How old a stamp may be when it is sent; half of what it may take to be written, since the server needs some too.
    private static let stampAge = Lineage.lifetime / 2

    /// Deletes an object: announces the deletion, and reports it done or failed.
    ///
    /// - Parameters:
    ///   - object: the object.
    ///   - version: the only version that is to be deleted; nil deletes any.
    ///   - client: what makes the call.
    /// - Returns: whether there was such an object.
    /// - Throws: `LoopRefusal` before anything is sent, or what ``KiiClient/perform(_:)`` throws.
    @discardableResult
    public func delete(_ object: KiiObject, ifMatch version: String? = nil, with client: KiiClient) async throws -> Bool
    {
        let announced = try willDelete(object)
        do {
            let wasThere = try await client.perform(.deleteObject(object, ifMatch: version))
            // Nothing was deleted, so no event will come.
            if wasThere { announced.done() } else { announced.failed() }
            return wasThere
        } catch {
            announced.failed()
            throw error
        }
    }

    /// Sends a push to a topic, with the stamp in its data.
    ///
    /// - Parameters:
    ///   - message: the push; the stamp counts towards its size.
    ///   - topic: the topic.
    ///   - sender: whose token the client has.
    ///   - client: what makes the call.
    /// - Returns: the push's id.
    /// - Throws: what ``KiiClient/send(_:to:as:)`` throws.
    @discardableResult
    public func send(
        _ message: OutgoingMessage, to topic: KiiTopic, as sender: Sender, with client: KiiClient
    ) async throws -> PushMessageID {
        try await client.send(to: topic, as: sender, renewingAfter: Self.stampAge) {
            var stamped = message
            stamped.data = message.data.stamped(stamp)
            return stamped
        }
    }

    /// Goes on with the lineage of an object that was read, so that a loop over objects ends too.
    ///
    /// - Parameter record: the object as the server has it.
    /// - Returns: a context whose stamp counts on from the object's.
    /// - Throws: `LineageTooLong` when the object has come through too many handlers; let it out of the handler.
    public func continuing(_ record: ObjectRecord) throws -> HandlerContext {
        try continuing(record[Lineage.key]?.string, modifiedAt: record.modifiedAt)
    }
}

extension KeyedData {
    fileprivate var unstamped: KeyedData {
        var fields = self
        fields[Lineage.key] = nil
        return fields
    }

    fileprivate func stamped(_ stamp: String) -> KeyedData {
        var fields = self
        fields[Lineage.key] = .string(stamp)
        return fields
    }
}
