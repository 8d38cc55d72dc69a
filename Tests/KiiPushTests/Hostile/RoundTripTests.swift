import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// What is written is read back the same, and how a text is spelled changes nothing.
struct RoundTripTests {
    @Test("data that was sent is data that was received", arguments: 0..<8)
    func data(seed: UInt64) throws {
        var random = RandomJSON(seed: 100 + seed)
        for _ in 0..<100 {
            // A prefix, since no key may be one of Kii's or of a network's.
            let members = random.members(upTo: 40, depth: 5, prefix: "my ")
            let message = try PushMessage(RawPayload(DataValue.object(members).json))
            #expect(DataValue.object(message.data.members).json.utf8.elementsEqual(DataValue.object(members).json.utf8))
            for (key, value) in members { #expect(message.data[key] == value) }
        }
    }

    @Test("white space and escapes change no value", arguments: 0..<8)
    func spellings(seed: UInt64) throws {
        var random = RandomJSON(seed: 200 + seed)
        for _ in 0..<250 {
            let value = random.value(depth: 5)
            let spelling = random.spelling(of: value)
            let read = try #require(DataValue(json: spelling), "\(spelling)")
            #expect(read.json.utf8.elementsEqual(value.json.utf8))
        }
    }

    @Test("white space and escapes change no message", arguments: PayloadFixture.matrix.map(\.payload))
    func spellings(of payload: RawPayload) throws {
        let message = try PushMessage(payload, app: "other")
        let value = try #require(DataValue(json: String(decoding: payload.bytes, as: UTF8.self)))
        var random = RandomJSON(seed: 300)
        for _ in 0..<25 {
            let spelling = random.spelling(of: value)
            let spelled = RawPayload(spelling, transport: payload.transport)
            let other = try PushMessage(spelled, app: "other")
            #expect(other.raw == spelled && other.rawObject == value)
            #expect(other.classification == message.classification)
            #expect(other.dialect == message.dialect && other.scope == message.scope)
            #expect(other.bucket == message.bucket && other.object == message.object && other.topic == message.topic)
            #expect(other.sender == message.sender && other.aps == message.aps)
            for field in KiiField.allCases { #expect(other[field] == message[field]) }
            #expect(DataValue.object(other.data.members) == DataValue.object(message.data.members))
            #expect(other.dedupeKeys(secret: .published) == message.dedupeKeys(secret: .published))
        }
    }
}
