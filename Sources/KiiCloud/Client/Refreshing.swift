public import KiiPush

// A payload names these resources without their contents: these calls read the current state.
extension KiiClient {
    /// Reads an object; nil if it does not exist, as after a push about its deletion.
    ///
    /// - Throws: the errors of ``perform(_:)``.
    public func refresh(_ object: KiiObject) async throws -> ObjectRecord? { try await perform(.readObject(object)) }

    /// Reads a user; nil if it does not exist.
    ///
    /// - Throws: the errors of ``perform(_:)``.
    public func refresh(_ user: KiiUser) async throws -> UserRecord? { try await perform(.readUser(user)) }

    /// Reads a group; nil if it does not exist.
    ///
    /// - Throws: the errors of ``perform(_:)``.
    public func refresh(_ group: KiiGroup) async throws -> GroupRecord? { try await perform(.readGroup(group)) }

    /// Reads a thing; nil if it does not exist.
    ///
    /// - Throws: the errors of ``perform(_:)``.
    public func refresh(_ thing: KiiThing) async throws -> ThingRecord? { try await perform(.readThing(thing)) }
}

extension HandlerContext {
    /// Reads the object that an event is about, or any other; nil if it does not exist.
    ///
    /// Pass the record to ``write(_:_:with:)-(ObjectRecord,_,_)``, which continues the object's lineage.
    ///
    /// - Parameters:
    ///   - object: the object.
    ///   - client: the client that makes the call.
    /// - Returns: the current object, which may be newer than the event.
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
