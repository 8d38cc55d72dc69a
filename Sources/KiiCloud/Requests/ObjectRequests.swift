public import KiiPush

extension CloudRequest where Answer == ObjectRecord? {
    /// Reads an object; the answer is nil when it is gone, as behind a push that says that it was deleted.
    public static func readObject(_ object: KiiObject) -> Self {
        Self(.get, CloudPath(object)) { response in
            if response.status == 404, response.error().code == .objectNotFound { return nil }
            try response.expect(200)
            return try ObjectRecord(object, response)
        }
    }
}

extension CloudRequest where Answer == Written {
    /// Creates an object, whose id the server makes.
    public static func createObject(in bucket: KiiBucket, _ fields: KeyedData) -> Self {
        Self(.post, CloudPath(bucket).appending("objects"), headers: [.json], body: fields.json) { response in
            try response.expect(201)
            let id = try response.text("objectID", in: try response.members())
            return try Written(KiiObject(bucket: bucket, id: id), response)
        }
    }

    /// Creates an object by its id; refused when there is one already, so that doing it twice does it once.
    public static func createObject(_ object: KiiObject, _ fields: KeyedData) -> Self {
        Self(.put, CloudPath(object), headers: [.json, HTTPHeader("If-None-Match", "*")], body: fields.json) {
            try Written(object, $0, expecting: 201, 200)
        }
    }

    /// Puts fields in the place of all that an object has, or creates it.
    ///
    /// - Parameters:
    ///   - object: the object.
    ///   - fields: all that it has from then on.
    ///   - version: the only version that is to be replaced; nil replaces any.
    /// - Returns: the request.
    public static func replaceObject(_ object: KiiObject, _ fields: KeyedData, ifMatch version: String? = nil) -> Self {
        Self(.put, CloudPath(object), headers: [.json] + HTTPHeader.match(version), body: fields.json) {
            try Written(object, $0, expecting: 200, 201)
        }
    }

    /// Changes some fields of an object and leaves the others as they are.
    ///
    /// - Parameters:
    ///   - object: the object.
    ///   - fields: those that change.
    ///   - version: the only version that is to be changed; nil changes any.
    /// - Returns: the request.
    public static func patchObject(_ object: KiiObject, _ fields: KeyedData, ifMatch version: String? = nil) -> Self {
        let headers = [.json, HTTPHeader("X-HTTP-Method-Override", "PATCH")] + HTTPHeader.match(version)
        return Self(.post, CloudPath(object), headers: headers, body: fields.json) {
            try Written(object, $0, expecting: 200, 201)
        }
    }
}

extension CloudRequest where Answer == Bool {
    /// Deletes an object; the answer is false when there was none.
    ///
    /// - Parameters:
    ///   - object: the object.
    ///   - version: the only version that is to be deleted; nil deletes any.
    /// - Returns: the request.
    public static func deleteObject(_ object: KiiObject, ifMatch version: String? = nil) -> Self {
        Self(.delete, CloudPath(object), headers: HTTPHeader.match(version)) { response in
            try response.isDone(204, 200, no: .objectNotFound)
        }
    }
}

extension Written {
    fileprivate init(_ object: KiiObject, _ response: HTTPResponse, expecting first: Int, _ second: Int) throws {
        try response.expect(first, second)
        try self.init(object, response)
    }
}

extension HTTPHeader {
    static let json = HTTPHeader("Content-Type", "application/json")

    fileprivate static func match(_ version: String?) -> [HTTPHeader] {
        version.map { [HTTPHeader("If-Match", $0)] } ?? []
    }
}

extension KeyedData {
    /// The members as one object of JSON.
    var json: String {
        var writer = JSONWriter()
        writer.value(.object(members))
        return writer.text
    }
}

extension HTTPResponse {
    /// Whether a call did something: true for one of two statuses, false for a code that says that nothing was left to
    /// do.
    func isDone(_ first: Int, _ second: Int, no code: CloudError.Code) throws(CloudError) -> Bool {
        if status == first || status == second { return true }
        let error = error()
        if error.code == code { return false }
        throw error
    }
}
