public import KiiPush

extension CloudRequest where Answer == ObjectRecord? {
    /// Reads an object; the answer is nil if it does not exist, as after a push about its deletion.
    public static func readObject(_ object: KiiObject) -> Self {
        Self(.get, CloudPath(object)) { response in
            try response.fields(200, no: .objectNotFound).map { ObjectRecord(object, $0, version: response.version) }
        }
    }
}

/// A write of an object's fields.
public enum ObjectWrite: Sendable, Hashable {
    /// Creates the object; fails if it exists with other fields.
    case create(KeyedData)
    /// Replaces all fields of the object; if a version is named, only that version.
    case replace(KeyedData, ifMatch: String? = nil)
    /// Changes some fields; if a version is named, only of that version.
    case patch(KeyedData, ifMatch: String? = nil)
}

extension CloudRequest where Answer == Written {
    /// Creates an object with an id that the server assigns.
    public static func createObject(in bucket: KiiBucket, _ fields: KeyedData) -> Self {
        Self(.post, CloudPath(bucket).appending("objects"), headers: [.json], body: fields.json) { response in
            let id = try response.text("objectID", in: try response.members(of: 201))
            return try Written(KiiObject(bucket: bucket, id: id), response)
        }
    }

    /// Writes an object, sent once: unlike ``KiiClient/write(_:_:)``, a creation fails whenever the object exists.
    public static func writeObject(_ object: KiiObject, _ write: ObjectWrite) -> Self {
        let (method, fields, more): (HTTPRequest.Method, KeyedData, [HTTPHeader]) =
            switch write {
            case .create(let fields): (.put, fields, [HTTPHeader("If-None-Match", "*")])
            case .replace(let fields, let version): (.put, fields, HTTPHeader.match(version))
            case .patch(let fields, let version):
                (.post, fields, [HTTPHeader("X-HTTP-Method-Override", "PATCH")] + HTTPHeader.match(version))
            }
        return Self(method, CloudPath(object), headers: [.json] + more, body: fields.json) { try Written(object, $0) }
    }
}

extension CloudRequest where Answer == Bool {
    /// Deletes an object, only that version unless it is nil; the answer is false if it did not exist.
    public static func deleteObject(_ object: KiiObject, ifMatch version: String? = nil) -> Self {
        Self(.delete, CloudPath(object), headers: HTTPHeader.match(version)) { response in
            try response.fields(204, 200, no: .objectNotFound) != nil
        }
    }
}

extension HTTPHeader {
    static let json = HTTPHeader("Content-Type", "application/json")

    fileprivate static func match(_ version: String?) -> [HTTPHeader] {
        version.map { [HTTPHeader("If-Match", $0)] } ?? []
    }
}

extension KeyedData {
    var json: String { DataValue.object(members).jsonText }
}

extension HTTPResponse {
    /// The members of a successful answer's object, or none with 204; nil for a code that says there was nothing to do.
    ///
    /// Read also where the status alone would do: a wrong server may answer 200 to everything.
    func fields(_ statuses: Int..., no code: CloudError.Code? = nil) throws(CloudError) -> KeyedData? {
        if statuses.contains(status) { return status == 204 ? [:] : try members() }
        let error = error()
        if error.code == code { return nil }
        throw error
    }
}

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
        guard let fields = try response.fields(200, no: code) else { return nil }
        self.init(handle: handle, fields: fields)
    }
}
