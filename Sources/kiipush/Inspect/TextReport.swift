import KiiPush
import KiiPushAgent
import KiiPushSystem

/// The report of `kiipush inspect` for people: a headline, then a line for each property.
enum TextReport {
    static func lines(_ message: PushMessage, source: String, app: String?, ink: Ink = .none) -> [String] {
        let classification = message.classification
        var lines = [headline(message, classification, source, ink)]
        func add(_ name: String, _ text: String?, _ tone: Ink.Tone? = nil) {
            guard let text else { return }
            lines.append(ink("  " + name.padded(to: 10) + escaped(text), tone))
        }
        for conflict in classification.conflicts {
            add("conflict", "\(conflict.name): \(conflict.reason)", .warning)
        }
        for hint in message.hints { add("hint", hint, .warning) }
        add("format", message.format ?? message.dialect.rawValue)
        add("event", message.event?.name)
        add("scope", scope(message.scope))
        for field in message.unusedFields {
            add(
                "unused",
                "\(message.dialect.hasShortKeys ? field.shortName : field.longName): the scope is of another type")
        }
        add(
            "bucket",
            message.bucket.map { bucket in bucket.name + (bucket.type.map { " (\($0))" } ?? "") }
                ?? placeless(.bucketID, of: .pushToApp, message))
        add("object", message.object?.id ?? placeless(.objectID, of: .pushToApp, message))
        add("topic", message.topic?.name ?? placeless(.topic, of: .pushToUser, message))
        add("uri", (message.object?.uri ?? message.bucket?.uri ?? message.topic?.uri)?.description)
        add("sender", message.sender?.description)
        add("origin", message[.origin])
        add("app", message.appID)
        if let push = ForeignPushMessage(message) {
            add("type", push.type)
            add("source", push.source)
            add("subject", push.subject)
            add("id", push.id)
        }
        add("sent", message.sentAt.map(time))
        add("expires", message.expiresAt.map(time))
        add("modified", message.modifiedAt.map(time))
        add("alert", message.alert.map(alert))
        for (name, text) in shown(message.aps) { add(name, text) }
        for (name, text) in direct(message) { add(name, text) }
        for (key, value) in message.data.members { add("data", "\(key) = \(value.jsonText)") }
        let keys = message.dedupeKeys(app: app, secret: .published)
        add("dedupe", "\(keys.strength.rawValue) \(keys.primary)")
        return lines
    }

    /// The keys of Apple's dictionary but the alert's texts; those without a name of their own as sent.
    private static func shown(_ aps: AppleDictionary?) -> [(String, String?)] {
        guard let aps else { return [] }
        var lines: [(String, String?)] = [
            ("badge", aps.badge.map { String($0) }), ("sound", aps.sound), ("category", aps.category),
            ("thread", aps.threadID), ("mutable", aps.mutableContent ? "an extension may change it first" : nil),
            ("wakes", aps.contentAvailable && !aps.isSilent ? "it wakes the app" : nil),
            ("silent", aps.isSilent ? "it wakes the app and shows nothing" : nil),
        ]
        for (key, value) in aps.members {
            switch (key, value) {
            case ("alert", .object(let members)):
                lines += members.filter { !["title", "subtitle", "body"].contains($0.key) }
                    .map { ("aps", "alert.\($0.key) = \($0.value.jsonText)") }
            case ("alert", .string), ("badge", .number), ("sound", .string), ("category", .string),
                ("thread-id", .string), ("content-available", _), ("mutable-content", _):
                break
            default: lines.append(("aps", "\(key) = \(value.jsonText)"))
            }
        }
        return lines
    }

    /// The command or the contents of a QuickBlox push.
    private static func direct(_ message: PushMessage) -> [(String, String?)] {
        guard let direct = DirectPushMessage(message) else { return [] }
        var lines: [(String, String?)] = [("done", direct.completedCommandID.map { "the command \($0)" })]
        if let command = direct.command {
            lines.append(("command", command.id + (command.issuer.map { ", issued by \($0)" } ?? "")))
            lines.append(("schema", command.schema.map { "\($0.name), version \($0.version)" }))
            lines += command.actions.map { action in
                ("action", (action.alias.map { "\($0): " } ?? "") + "\(action.name) = \(action.value.jsonText)")
            }
        }
        guard let push = direct.quickBlox else { return lines }
        lines += [
            ("user", push.userID), ("dialog", push.dialogID),
            ("voip", push.isVoIP ? "it wakes the app for a call" : nil),
        ]
        if let call = push.call {
            let video = call.isVideo.map { $0 ? ", with video" : ", audio only" } ?? ""
            lines.append(("call", "\(call.sessionID)\(video)"))
            lines.append(("with", call.participants.isEmpty ? nil : call.participants.joined(separator: ", ")))
            lines.append(("names", call.names.isEmpty ? nil : call.names.joined(separator: ", ")))
            lines.append(("called", call.calledAt.map(time)))
        }
        return lines
    }

    private static func headline(
        _ message: PushMessage, _ classification: Classification, _ source: String, _ ink: Ink
    ) -> String {
        let tone: Ink.Tone? =
            switch classification.certainty {
            case .certain: .good
            case .likely: nil
            case .ambiguous: .warning
            }
        return "\(escaped(source)): \(ink("\(classification.kind)", .strong)), "
            + "\(ink(classification.certainty.rawValue, tone)): \(reason(message, classification))"
    }

    /// Why a message has its kind, in a few words.
    static func reason(_ message: PushMessage, _ classification: Classification) -> String {
        guard classification.certainty == .likely, classification.evidence.isEmpty, MisplacedKeys.hint(message) != nil
        else { return classification.reason }
        return "none of Kii's keys are where they are read"
    }

    /// The id of something that a payload names without its scope, so that no rule can match it.
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
        let shown = date.map { "\($0) (\(milliseconds))" } ?? String(milliseconds)
        return shown + (milliseconds.probableUnit.map { ", probably \($0), not milliseconds" } ?? "")
    }
}
