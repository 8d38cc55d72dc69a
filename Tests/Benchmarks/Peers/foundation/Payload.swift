import Foundation

/// What a payload says, under APNs' short keys or the long ones.
struct Payload: Decodable {
    /// A time as APNs and MQTT write it, or as FCM does.
    enum Digits: Decodable {
        case number(Int64)
        case text(String)

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            self = try (try? value.decode(Int64.self)).map(Digits.number) ?? .text(value.decode(String.self))
        }

        var text: String {
            switch self {
            case .number(let number): String(number)
            case .text(let text): text
            }
        }
    }

    let bi, oi, to, t, s, sa, st, su, sg, sth: String?
    let w: Digits?
    let bucketID, objectID, topic, type, sender: String?
    let objectScopeAppID, objectScopeType, objectScopeUserID, objectScopeGroupID, objectScopeThingID: String?
    let when: Digits?
}

enum Kind: String {
    case pushToApp
    case pushToUser
    case directPush
}

struct Message {
    let kind: Kind
    let bucket: String?
    let object: String?
    let topic: String?
    let event: String?
    let sender: String?
    let app: String?
    let scope: String?
    let scopeID: String?
    let when: String?
    let bytes: Data

    init(_ payload: Payload, _ bytes: Data) {
        let bucket = payload.bi ?? payload.bucketID
        let topic = payload.to ?? payload.topic
        let kind: Kind = bucket != nil ? .pushToApp : topic != nil ? .pushToUser : .directPush
        self.kind = kind
        self.bucket = bucket
        object = kind == .pushToApp ? payload.oi ?? payload.objectID : nil
        self.topic = kind == .pushToUser ? topic : nil
        event = payload.t ?? payload.type
        sender = payload.s ?? payload.sender
        app = payload.sa ?? payload.objectScopeAppID
        let scope = payload.st ?? payload.objectScopeType
        self.scope = scope
        scopeID =
            switch scope {
            case "APP_AND_USER": payload.su ?? payload.objectScopeUserID
            case "APP_AND_GROUP": payload.sg ?? payload.objectScopeGroupID
            case "APP_AND_THING": payload.sth ?? payload.objectScopeThingID
            default: nil
            }
        when = (payload.w ?? payload.when)?.text
        self.bytes = bytes
    }
}
