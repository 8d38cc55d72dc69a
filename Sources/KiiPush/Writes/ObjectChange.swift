/// How a write changes an object, and so which events it causes.
@nonexhaustive
public enum ObjectChange: String, Sendable, Hashable, CaseIterable {
    /// It creates the object or changes its fields: `DATA_OBJECT_CREATED`, `DATA_OBJECT_UPDATED`.
    case fields
    /// It deletes the object: `DATA_OBJECT_DELETED`.
    case deletion
    /// It replaces or deletes the object's body: `DATA_OBJECT_BODY_UPDATED`, `DATA_OBJECT_BODY_DELETED`.
    case body
    /// It changes the access rights of the object: `DATA_OBJECT_ACL_MODIFIED`.
    case permissions
}

extension ObjectChange {
    /// The change that an object's event reports; nil for an event that no write declared here can cause.
    ///
    /// An event without a type counts as a change of the fields, because it cannot be distinguished from one.
    init?(eventOf storage: MessageStorage) {
        let type = storage.fields[.type]
        let buffer = storage.buffer
        let text = buffer.span
        if !type.isPresent || text.matches(type.range, "DATA_OBJECT_UPDATED")
            || text.matches(type.range, "DATA_OBJECT_CREATED")
        {
            self = .fields
        } else if text.matches(type.range, "DATA_OBJECT_DELETED") {
            self = .deletion
        } else if text.begins(type.range, with: "DATA_OBJECT_BODY_") {
            self = .body
        } else if text.begins(type.range, with: "DATA_OBJECT_ACL_") {
            self = .permissions
        } else {
            return nil
        }
    }
}
