import KiiPush
import KiiPushLinux
import KiiPushSystem

/// The report of `kiipush inspect` for people: a headline, then a line for each property.
enum TextReport {
    static func lines(_ message: PushMessage, source: String, app: String?, ink: Ink = .none) -> [String] {
        let classification = message.classification
        var lines = [headline(classification, source, ink)]
        func add(_ name: String, _ text: String?, _ tone: Ink.Tone? = nil) {
            guard let text else { return }
            lines.append(ink("  " + name.padded(to: 10) + escaped(text), tone))
        }
        for conflict in classification.conflicts {
            add("conflict", "\(conflict.name): \(conflict.reason)", .warning)
        }
        add("event", message.event?.name)
        add("scope", scope(message.scope))
        add(
            "bucket",
            message.bucket.map { bucket in bucket.name + (bucket.type.map { " (\($0))" } ?? "") }
                ?? placeless(.bucketID, of: .pushToApp, message))
        add("object", message.object?.id ?? placeless(.objectID, of: .pushToApp, message))
        add("topic", message.topic?.name ?? placeless(.topic, of: .pushToUser, message))
        add("uri", (message.object?.uri ?? message.bucket?.uri ?? message.topic?.uri)?.description)
        add("sender", message.sender.map { "\($0.typeName) \($0.id)" })
        add("app", message.appID)
        add("sent", message.sentAt.map(time))
        add("modified", message.modifiedAt.map(time))
        add("alert", message.alert.map(alert))
        if message.aps?.isSilent == true { add("silent", "it wakes the app and shows nothing") }
        for (key, value) in message.data.members {
            var writer = JSONWriter()
            writer.value(value)
            add("data", "\(key) = \(writer.text)")
        }
        let keys = message.dedupeKeys(app: app, secret: .published)
        add("dedupe", "\(keys.strength.rawValue) \(keys.primary)")
        return lines
    }

    private static func headline(_ classification: Classification, _ source: String, _ ink: Ink) -> String {
        let reason = reason(classification)
        let certainty = reason.prefix { $0 != ":" }
        let tone: Ink.Tone? =
            switch classification.certainty {
            case .certain: .good
            case .likely: nil
            case .ambiguous: .warning
            }
        return "\(escaped(source)): \(ink("\(classification.kind)", .strong)), "
            + "\(ink(String(certainty), tone))\(reason.dropFirst(certainty.count))"
    }

    /// Why a message has its kind, in a few words.
    static func reason(_ classification: Classification) -> String {
        let evidence = classification.evidence.joined(separator: ", ")
        switch classification.certainty {
        case .certain: return "certain: the payload has \(evidence)"
        case .likely: return "likely: nothing in the payload says otherwise"
        case .ambiguous where evidence.isEmpty: return "ambiguous: it contradicts itself"
        case .ambiguous: return "ambiguous: the payload has \(evidence), but contradicts itself"
        }
    }

    /// The id of something that a payload names without its scope, so that no handle can be made and no rule can match
    /// it.
    private static func placeless(_ field: KiiField, of kind: PushKind, _ message: PushMessage) -> String? {
        guard message.kind == kind, let name = message[field] else { return nil }
        guard message.scope.owner == nil else {
            return "\(name) (no bucket is named)"
        }
        guard message.scope.typeName != nil else { return "\(name) (no complete scope: the payload states none)" }
        return "\(name) (no complete scope: the payload states \(scope(message.scope) ?? "none"))"
    }

    /// Title, subtitle and body, each as text or as a localization key.
    private static func alert(_ alert: Alert) -> String {
        let parts = [
            alert.title ?? alert.titleLocKey, alert.subtitle ?? alert.subtitleLocKey, alert.body ?? alert.locKey,
        ]
        return parts.compactMap(\.self).joined(separator: " / ")
    }

    private static func scope(_ scope: MessageScope) -> String? {
        guard let type = scope.typeName else { return nil }
        if let id = scope.id { return "\(type) \(id)" }
        switch scope.kind {
        case .app: return type
        case .unknown: return "\(type), which is unknown"
        case .user, .group, .thing: return "\(type), without the required id"
        }
    }

    /// Milliseconds since 1970 as a date in UTC, followed by the original number.
    static func time(_ milliseconds: Int64) -> String {
        let date = UTCDate(milliseconds: milliseconds)
        return date.map { "\($0) (\(milliseconds))" } ?? String(milliseconds)
    }
}
