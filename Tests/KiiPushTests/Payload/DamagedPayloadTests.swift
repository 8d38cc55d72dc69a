import KiiPushTesting
import Testing

@testable import KiiPush

/// Whatever happens to a payload on its way, reading it ends in a message or in an error.
struct DamagedPayloadTests {
    /// Asks a message for all that it can say.
    private func readAll(_ message: PushMessage) {
        _ = (message.classification, message.scope, message.bucket, message.object, message.topic)
        _ = (message.scopeUser, message.scopeGroup, message.scopeThing, message.sender, message.alert, message.aps)
        _ = (message.appID, message.event, message.sentAt, message.modifiedAt)
        for field in KiiField.allCases { _ = message[field] }
        for (key, value) in message.data.members {
            _ = (message.data[key], value.string, value.integer, value.double, value.bool, value["k"], value[0])
        }
        _ = try? message.data.decode([String: String].self)
    }

    @Test("a fixture cut anywhere is an error", arguments: PayloadFixture.matrix.map(\.payload))
    func cut(_ payload: RawPayload) throws {
        readAll(try PushMessage(payload))
        for length in payload.bytes.indices {
            let cut = RawPayload(Array(payload.bytes[..<length]), transport: payload.transport)
            let error = #expect(throws: DecodeError.self) { try PushMessage(cut) }
            #expect(error?.code == (length == 0 ? .empty : .unexpectedEnd))
            #expect(error?.offset == length)
        }
    }

    @Test("a fixture with any byte replaced is a message or an error", arguments: PayloadFixture.matrix.map(\.payload))
    func replaced(_ payload: RawPayload) {
        for index in payload.bytes.indices {
            for nasty in Array("\"\\{}[],:-.e0u ".utf8) + [0x00, 0x0A, 0x1F, 0x80, 0xC3, 0xED, 0xF0, 0xFF] {
                var damaged = payload
                damaged.bytes[index] = nasty
                do {
                    readAll(try PushMessage(damaged))
                } catch {
                    #expect(error.offset <= payload.bytes.count)
                }
            }
        }
    }

    @Test(
        "a fixture with any byte left out or doubled is a message or an error",
        arguments: PayloadFixture.matrix.map(\.payload))
    func shifted(_ payload: RawPayload) {
        for index in payload.bytes.indices {
            var shorter = payload
            shorter.bytes.remove(at: index)
            if let message = try? PushMessage(shorter) { readAll(message) }
            var longer = payload
            longer.bytes.insert(payload.bytes[index], at: index)
            if let message = try? PushMessage(longer) { readAll(message) }
        }
    }
}
