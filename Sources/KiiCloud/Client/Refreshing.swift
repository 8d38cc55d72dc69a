public import KiiPush

// What a payload names it does not bring: these read it as it is now.
extension KiiClient {
    /// Reads an object; nil when it is gone, as behind a push that says that it was deleted.
    ///
    /// - Throws: what ``perform(_:)`` throws.
    public func refresh(_ object: KiiObject) async throws -> ObjectRecord? { try await perform(.readObject(object)) }

    /// Reads a user; nil when there is none.
    ///
    /// - Throws: what ``perform(_:)`` throws.
    public func refresh(_ user: KiiUser) async throws -> UserRecord? { try await perform(.readUser(user)) }

    /// Reads a group; nil when there is none.
    ///
    /// - Throws: what ``perform(_:)`` throws.
    public func refresh(_ group: KiiGroup) async throws -> GroupRecord? { try await perform(.readGroup(group)) }

    /// Reads a thing; nil when there is none.
    ///
    /// - Throws: what ``perform(_:)`` throws.
    public func refresh(_ thing: KiiThing) async throws -> ThingRecord? { try await perform(.readThing(thing)) }
}

extension HandlerContext {
    /// Reads the object that an event is about, or any other; nil when it is gone.
    ///
    /// Give the record to ``write(_:_:with:)-(ObjectRecord,_,_)``, which goes on with the object's lineage.
    ///
    /// - Parameters:
    ///   - object: the object.
    ///   - client: what makes the call.
    /// - Returns: the object as it is now, which may be newer than the event.
    /// - Throws: what ``KiiClient/perform(_:)`` throws.
    public func refresh(_ object: KiiObject, with client: KiiClient) async throws -> ObjectRecord? {
        try await client.refresh(object)
    }

    /// Reads a user, such as the sender or the owner of the scope; nil when there is none.
    ///
    /// - Parameters:
    ///   - user: the user.
    ///   - client: what makes the call.
    /// - Returns: the user as it is now.
    /// - Throws: what ``KiiClient/perform(_:)`` throws.
    public func refresh(_ user: KiiUser, with client: KiiClient) async throws -> UserRecord? {
        try await client.refresh(user)
    }

    /// Reads a group; nil when there is none.
    ///
    /// - Parameters:
    ///   - group: the group.
    ///   - client: what makes the call.
    /// - Returns: the group as it is now.
    /// - Throws: what ``KiiClient/perform(_:)`` throws.
    public func refresh(_ group: KiiGroup, with client: KiiClient) async throws -> GroupRecord? {
        try await client.refresh(group)
    }

    /// Reads a thing; nil when there is none.
    ///
    /// - Parameters:
    ///   - thing: the thing.
    ///   - client: what makes the call.
    /// - Returns: the thing as it is now.
    /// - Throws: what ``KiiClient/perform(_:)`` throws.
    public func refresh(_ thing: KiiThing, with client: KiiClient) async throws -> ThingRecord? {
        try await client.refresh(thing)
    }
}
