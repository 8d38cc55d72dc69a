public import KiiPush

extension CloudRequest where Answer == UserRecord? {
    /// Reads a user; the answer is nil if it does not exist.
    public static func readUser(_ user: KiiUser) -> Self {
        Self(.get, CloudPath(.user(user))) { try CloudRecord(user, $0, none: .userNotFound) }
    }
}

extension CloudRequest where Answer == GroupRecord? {
    /// Reads a group; the answer is nil if it does not exist.
    public static func readGroup(_ group: KiiGroup) -> Self {
        let accept = HTTPHeader("Accept", "application/vnd.kii.GroupRetrievalResponse+json")
        return Self(.get, CloudPath(.group(group)), headers: [accept]) {
            try CloudRecord(group, $0, none: .groupNotFound)
        }
    }
}

extension CloudRequest where Answer == ThingRecord? {
    /// Reads a thing; the answer is nil if it does not exist.
    public static func readThing(_ thing: KiiThing) -> Self {
        let accept = HTTPHeader("Accept", "application/vnd.kii.ThingRetrievalResponse+json")
        return Self(.get, CloudPath(.thing(thing)), headers: [accept]) {
            try CloudRecord(thing, $0, none: .thingNotFound)
        }
    }
}

extension CloudRecord {
    fileprivate init?(_ handle: Handle, _ response: HTTPResponse, none code: CloudError.Code) throws(CloudError) {
        if response.status != 200 {
            let error = response.error()
            guard error.code == code else { throw error }
            return nil
        }
        self.init(handle: handle, fields: try response.members())
    }
}
