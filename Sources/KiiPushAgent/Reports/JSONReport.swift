package import KiiPush

/// The JSON of `kiipush inspect --format json` and of the input of rules' programs: one object on one line, with all
/// keys always present.
package enum JSONReport {
    /// The line for a message, without its end.
    ///
    /// `app` is the receiver's, for deduplication keys of payloads that name none; `more` writes further members.
    package static func line(
        _ message: PushMessage, source: String, app: String?, more: (inout JSONWriter) -> Void = { _ in }
    ) -> String {
        JSONWriter.object { writer in
            writer.member("source", source)
            writeClassification(message, &writer)
            writeHandles(message, &writer)
            writeShown(message, &writer)
            writeContent(message, &writer)
            let keys = message.dedupeKeys(app: app, secret: .published)
            writer.member("dedupe") { writer in
                writer.member("key", keys.primary.description)
                writer.member("strength", keys.strength.rawValue)
            }
            writeRest(message, &writer)
            more(&writer)
        }
    }

    /// The line for a payload that could not be decoded, without its end.
    package static func line(
        _ error: DecodeError, source: String, more: (inout JSONWriter) -> Void = { _ in }
    ) -> String {
        JSONWriter.object { writer in
            writer.member("source", source)
            writer.member("error") { writer in
                writer.member("code", error.code.rawValue)
                writer.member("offset", error.offset)
                writer.member("message", error.detail)
            }
            more(&writer)
        }
    }

    private static func writeClassification(_ message: PushMessage, _ writer: inout JSONWriter) {
        let classification = message.classification
        writer.member("kind", classification.kind.rawValue)
        writer.member("certainty", classification.certainty.rawValue)
        writer.member("dialect", message.dialect.rawValue)
        writer.member("evidence", classification.evidence)
        writer.member("conflicts", classification.conflicts.map(\.name))
        writer.member("appID", message.appID)
        writer.member("origin", message[.origin])
        writer.member("event", message.event?.name)
    }

    private static func writeHandles(_ message: PushMessage, _ writer: inout JSONWriter) {
        let scope = message.scope
        writer.member("scope", if: scope.typeName) { writer, type in
            writer.member("type", type)
            writer.member("id", scope.id)
        }
        writer.member("bucket", if: message.bucket) { writer, bucket in
            writer.member("name", bucket.name)
            writer.member("type", bucket.type?.rawName)
            writer.member("uri", bucket.uri.description)
        }
        writer.member("object", if: message.object) { writer, object in
            writer.member("id", object.id)
            writer.member("uri", object.uri.description)
        }
        writer.member("topic", if: message.topic) { writer, topic in
            writer.member("name", topic.name)
            writer.member("uri", topic.uri.description)
        }
        writer.member("sender", if: message.sender) { writer, sender in
            writer.member("type", sender.typeName)
            writer.member("id", sender.id)
        }
        writer.member("sentAt", message.sentAt)
        writer.member("modifiedAt", message.modifiedAt)
    }

    private static func writeShown(_ message: PushMessage, _ writer: inout JSONWriter) {
        writer.member("alert", if: message.alert) { writer, alert in
            writer.member("title", alert.title)
            writer.member("subtitle", alert.subtitle)
            writer.member("body", alert.body)
        }
        let aps = message.aps
        writer.member("aps", if: aps) { writer, aps in
            writer.member("badge", aps.badge)
            writer.member("sound", aps.sound)
            writer.member("category", aps.category)
            writer.member("contentAvailable", aps.contentAvailable)
            writer.member("mutableContent", aps.mutableContent)
        }
        writer.member("silent", aps?.isSilent ?? false)
    }

    private static func writeContent(_ message: PushMessage, _ writer: inout JSONWriter) {
        writer.member("command", if: DirectPushMessage(message)?.command) { writer, command in
            writer.member("id", command.id)
            writer.member("issuer", command.issuer)
            writer.member("schema", command.schema?.name)
            writer.member("actions", value: message.rawObject["actions"] ?? .null)
        }
        writer.member("data", value: .object(message.data.members))
        writer.member("fields") { writer in
            for field in KiiField.allCases {
                if let text = message[field] { writer.member(field.longName, text) }
            }
        }
    }
}

extension JSONReport {
    /// Apple's dictionary as sent, what formats have read of other pushes than Kii's, and what a person should know.
    private static func writeRest(_ message: PushMessage, _ writer: inout JSONWriter) {
        writer.member("apple", value: message.aps.map { .object($0.members) } ?? .null)
        let direct = DirectPushMessage(message)
        writer.member("completedCommandID", direct?.completedCommandID)
        writer.member("quickBlox", if: direct?.quickBlox) { writer, push in
            writer.member("text", push.text)
            writer.member("rawText", push.rawText)
            writer.member("userID", push.userID)
            writer.member("dialogID", push.dialogID)
            writer.member("voIP", push.isVoIP)
            writer.member("call", if: push.call) { writer, call in
                writer.member("sessionID", call.sessionID)
                writer.member("participants", call.participants)
                writer.member("names", call.names)
                writer.member("video", call.isVideo)
                writer.member("calledAt", call.calledAt)
            }
        }
        writer.member("foreign", if: ForeignPushMessage(message)) { writer, push in
            writer.member("format", push.format)
            writer.member("id", push.id)
            writer.member("source", push.source)
            writer.member("type", push.type)
            writer.member("subject", push.subject)
            writer.member("expiresAt", push.expiresAt)
        }
        writer.key("mqtt")
        if let mqtt = message.raw.mqtt { mqtt.write(to: &writer) } else { writer.null() }
        writer.member("unused", message.unusedFields.map(\.longName))
        writer.member("hints", message.hints)
    }
}

extension JSONWriter {
    /// Writes a member with an object made from `value`, or null without one.
    fileprivate mutating func member<Value>(
        _ key: String, if value: Value?, _ body: (inout JSONWriter, Value) -> Void
    ) {
        self.key(key)
        guard let value else { return null() }
        object { writer in body(&writer, value) }
    }
}
