import KiiPush

/// Decodes and classifies any bytes, as each transport would bring them, and reads all there is to read.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let transports: [Transport?] = [nil, .apns, .fcm, .jpush, .mqtt, .quickblox]
    for transport in transports {
        do throws(DecodeError) {
            check(try PushMessage(RawPayload(bytes, transport: transport), app: "0123abcd"))
        } catch {
            precondition((0...max(count, 1 << 20)).contains(error.offset), "an error outside the payload")
        }
    }
    return 0
}

/// What holds for every message, whoever sent it.
private func check(_ message: PushMessage) {
    let classification = message.classification
    precondition(classification.kind == message.kind)
    precondition((classification.certainty == .ambiguous) == !classification.conflicts.isEmpty)
    precondition(classification.certainty != .likely || message.kind == .directPush)
    precondition(message.bucket == nil || message.kind == .pushToApp)
    precondition(message.object == nil || message.bucket != nil)
    precondition(message.topic == nil || message.kind == .pushToUser)
    precondition(message.bucket == nil || message.scope.scope == message.bucket?.scope)
    for field in KiiField.allCases { _ = message[field] }
    _ = (message.sender, message.alert, message.aps, message.appID, message.user, message.group, message.thing)
    let members = message.data.members
    precondition(members.map(\.key) == message.data.keys)
    for (key, value) in members {
        precondition(message.data[key] == value)
        _ = (value.string, value.integer, value.double, value.bool)
    }
    _ = try? message.data.decode([String: String].self)
    let secret = DedupeSecret(1, 2)
    precondition(message.dedupeKeys(app: "a", secret: secret) == message.dedupeKeys(app: "a", secret: secret))
}
