import KiiCloud
import KiiPush

// Objects, as in Kii's REST API, and the pushes about their changes.
extension CloudState {
    mutating func create(in bucket: KiiBucket, _ fields: KeyedData, by sender: Sender) -> HTTPResponse {
        let object = KiiObject(bucket: bucket, id: nextID("o"))
        let time = put(object, fields, by: sender)
        return .of(201, ["objectID": .string(object.id), "createdAt": .integer(time)], version: 1)
    }

    mutating func answer(_ request: HTTPRequest, about object: KiiObject, by sender: Sender) -> HTTPResponse {
        let old = objects[object]
        if request[header: "If-None-Match"] != nil, old != nil { return .refusal(409, "OBJECT_ALREADY_EXISTS") }
        if let wanted = request[header: "If-Match"], let old, wanted != "\(old.version)" {
            return .refusal(409, "OBJECT_VERSION_IS_STALE")
        }
        // Only a replacement without a version creates an object.
        if old == nil, request.method != .put || request[header: "If-Match"] != nil {
            return .refusal(404, "OBJECT_NOT_FOUND")
        }
        switch request.method {
        case .get: return read(object)
        case .delete:
            objects[object] = nil
            push(.objectDeleted, of: object, by: sender, modifiedAt: nil)
            return .of(204)
        case .put, .post:
            var fields = request.method == .post ? old?.fields ?? [:] : [:]
            for (key, value) in request.fields.members { fields[key] = value }
            let time = put(object, fields, by: sender)
            let key = old == nil ? "createdAt" : request.method == .post ? "_modified" : "modifiedAt"
            return .of(old == nil ? 201 : 200, [key: .integer(time)], version: objects[object]?.version)
        }
    }

    private func read(_ object: KiiObject) -> HTTPResponse {
        guard let kept = objects[object] else { return .refusal(404, "OBJECT_NOT_FOUND") }
        var fields = kept.fields
        fields["_id"] = .string(object.id)
        fields["_created"] = .integer(kept.createdAt)
        fields["_modified"] = .integer(kept.modifiedAt)
        fields["_owner"] = .string(kept.owner)
        fields["_version"] = .string("\(kept.version)")
        return .of(200, fields, version: kept.version)
    }

    /// Writes an object, and sends the push about it; returns when it was written.
    private mutating func put(_ object: KiiObject, _ fields: KeyedData, by sender: Sender) -> Int64 {
        let time = now()
        if var kept = objects[object] {
            kept.fields = fields
            kept.version += 1
            kept.modifiedAt = time
            objects[object] = kept
            push(.objectUpdated, of: object, by: sender, modifiedAt: time)
        } else {
            objects[object] = Kept(fields: fields, owner: sender.id, createdAt: time, modifiedAt: time)
            push(.objectCreated, of: object, by: sender, modifiedAt: time)
        }
        return time
    }
}
