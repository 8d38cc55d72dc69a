// What a person who inspects a payload should know, beyond its classification.

package import KiiPush

extension PushMessage {
    /// Keys that are not where they are read, URIs that cannot be read, and times in another unit: a sentence each.
    package var hints: [String] {
        let times = [(KiiField.when, sentAt), (.objectModifiedAt, modifiedAt)].compactMap { field, time in
            time?.probableUnit.map { unit in
                "'\(dialect.hasShortKeys ? field.shortName : field.longName)' is probably in \(unit); it is due in "
                    + "milliseconds since 1970"
            }
        }
        let uris = [KiiField.sourceURI, .senderURI].filter { self[$0].map { KiiURI($0) == nil } ?? false }
            .map { "'\($0.longName)' is no URI of Kii's that is known, so it is not used" }
        return (MisplacedKeys.hint(self).map { [$0] } ?? []) + uris + times
    }

    /// The ids of owners that the scope's type does not have.
    package var unusedFields: [KiiField] {
        guard self[.scopeType] != nil else { return [] }
        let kind = scope.kind
        let owners = [(KiiField.scopeUserID, MessageScope.Kind.user), (.scopeGroupID, .group), (.scopeThingID, .thing)]
        return owners.filter { field, owned in self[field] != nil && owned != kind }.map { field, _ in field }
    }
}

/// Finds Kii's keys where the decoder does not read them, for people who inspect a payload.
package enum MisplacedKeys {
    /// Where they are and what to do, without values; nil if there are none, or if the message has evidence of its
    /// kind.
    package static func hint(_ message: PushMessage) -> String? {
        guard message.kind == .directPush, message.classification.evidence.isEmpty,
            case .object(let root) = message.rawObject
        else { return nil }
        if let format = message.format {
            guard has(root, longKeys, atLeast: 1) || has(root, shortKeys, atLeast: 2) else { return nil }
            return "Kii's keys are in the payload, but not read over \(format); give the transport that it came by"
        }
        if message.dialect.hasShortKeys, has(root, longKeys, atLeast: 1) {
            return
                "Kii's long keys are beside 'aps', where its short keys are read; if FCM sent it, the transport is fcm"
        }
        if !message.dialect.hasShortKeys, has(root, shortKeys, atLeast: 2) {
            return "Kii's short keys are in the payload, which are read only beside 'aps' or over apns"
        }
        guard let path = path(to: message.rawObject, depth: 0) else { return nil }
        return "Kii's keys are inside '\(path.joined(separator: "."))', where they are not read; pass that object alone"
    }

    private static let deepest = 6
    private static let fields: [KiiField] = [
        .bucketID, .bucketType, .scopeType, .scopeAppID, .scopeUserID, .scopeGroupID, .scopeThingID,
    ]
    private static let longKeys = fields.map(\.longName) + [KiiField.sourceURI.longName]
    private static let shortKeys = fields.map(\.shortName)

    private typealias Members = [(key: String, value: DataValue)]

    private static func has(_ members: Members, _ keys: [String], atLeast count: Int) -> Bool {
        members.count { member in keys.contains { $0.isExactly(member.key) } } >= count
    }

    /// The keys that lead to an object that looks like a payload; empty for the value itself.
    private static func path(to value: DataValue, depth: Int) -> [String]? {
        guard depth <= deepest else { return nil }
        switch value {
        case .object(let members):
            let isAPNs = members.contains { $0.key.isExactly("aps") }
            if depth > 0, has(members, longKeys, atLeast: 1) || has(members, shortKeys, atLeast: isAPNs ? 1 : 2) {
                return []
            }
            for (key, value) in members { if let rest = path(to: value, depth: depth + 1) { return [key] + rest } }
        case .array(let elements):
            for (index, value) in elements.enumerated() {
                if let rest = path(to: value, depth: depth + 1) { return ["\(index)"] + rest }
            }
        case .string(let text):
            // A quote begins a JSON text that was made JSON once more.
            guard let first = text.utf8.first(where: { $0 > 0x20 }), "{\"".utf8.contains(first) else { return nil }
            return DataValue(json: text).flatMap { path(to: $0, depth: depth + 1) }
        case .number, .bool, .null: break
        }
        return nil
    }
}
