import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// No value of a payload stands in what is made for logs: errors, outcomes, traces, conflicts, verdicts, metrics.
struct NoSecretsTests {
    /// What every value of the payloads is; no word of ours has it in it.
    private static let marker = "s3cr3tVALUE"

    @Test("descriptions of a message contain none of its values", arguments: PayloadFixture.matrix.map(\.payload))
    func valid(_ payload: RawPayload) async throws {
        for text in try Self.marked(payload) { try await expectSilence(RawPayload(text, transport: payload.transport)) }
    }

    @Test(
        "descriptions of a kept input contain none of its values",
        arguments: KeptInput.all.filter { $0.target == "FuzzDecode" })
    func kept(_ input: KeptInput) async throws {
        guard (try? PushMessage(RawPayload(input.bytes))) != nil else { return }
        for text in try Self.marked(RawPayload(input.bytes)) {
            for transport in [nil, Transport.apns, .fcm, .jpush, .mqtt, .quickblox] {
                try await expectSilence(RawPayload(text, transport: transport))
            }
        }
    }

    @Test(
        "descriptions of a damaged payload contain none of its values", arguments: PayloadFixture.matrix.map(\.payload))
    func broken(_ payload: RawPayload) async throws {
        let text = Array(try #require(try Self.marked(payload).last).utf8)
        for length in text.indices where length.isMultiple(of: 3) {
            try await expectSilence(RawPayload(Array(text[..<length]), transport: payload.transport))
            for nasty in [UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x01, 0xFF] {
                var damaged = text
                damaged[length] = nasty
                try await expectSilence(RawPayload(damaged, transport: payload.transport))
            }
        }
    }

    @Test(
        "descriptions of unreadable payloads contain none of their values",
        arguments: [
            "\"\(marker)\"", "[\"\(marker)\"]", marker, "{\"a\":\"\(marker)\",\"a\":\"\(marker)\"}",
            "{\"a\":\(marker)}", "HTTP/1.1 200 \(marker)\r\nX-Kii: \(marker)\r\n\r\n",
            "event.message=\(marker)&\(marker)", "a=\(marker)!", "{\"\(marker)\":\"\\ud800\"}", "{\"\(marker)\" 1}",
            "{ aps = \(marker); }", "{\"\(marker)\":\"\(marker)", "{\"\(marker)\":\"\(marker)\\q\(marker)\"}",
            "{\"\(marker)\":01,\"b\":\"\(marker)\"}", "{\"a\":\"\(marker)\n\"}", "{\"a\":1}\(marker)",
            "{\"\(marker)\":\(String(repeating: "[", count: PayloadLimits.standard.depth))\"\(marker)\"",
        ])
    func undecodable(_ text: String) async throws {
        for transport in [nil, Transport.apns, .fcm, .jpush, .mqtt, .quickblox] {
            try await expectSilence(RawPayload(text, transport: transport, transportMessageID: Self.marker))
        }
    }

    @Test("a trace contains nothing of a handler's error, nor of a middleware's", arguments: [false, true])
    func handlersError(isMiddleware: Bool) async throws {
        struct Leak: Error, CustomStringConvertible { let description: String }
        let fixture = PayloadFixture.pushToUser(data: [(Self.marker, .string(Self.marker))])
        let receiver = PushReceiver {
            Probe("probe", EventLog()) { if isMiddleware { throw Leak(description: Self.marker) } else { .pass } }
        }
        let traces = TraceLog()
        receiver.onTrace(traces.add)
        receiver.onPushToUser(id: "r") { message, _ in throw Leak(description: message.data.keys.joined()) }
        let outcome = await receiver.receive(fixture.payload(.long))
        #expect("\(outcome)" == (isMiddleware ? "failed (probe)" : "failed (r)"))
        let trace = try #require(traces.traces.first)
        let message = try #require(trace.message)
        expectSilence(String(reflecting: outcome), "\(trace) \(trace.stages)", "\(receiver.metrics)", "\(message)")
    }

    // MARK: Payloads with the marker in them

    /// The payload with the marker for each value alone, and for all at once, and with the keys of another kind too.
    private static func marked(_ payload: RawPayload) throws -> [String] {
        let text = String(decoding: payload.bytes, as: UTF8.self)
        guard case .object(let members)? = DataValue(json: text) else { return [] }
        let secret = DataValue.string(marker)
        var all = members.indices.map { index in
            var one = members
            one[index].value = secret
            return one
        }
        var ambiguous = members.map { ($0.key, $0.key == "aps" ? $0.value : secret) }
        for key in ["bucketID", "topic", "bi", "to", "sourceURI", "origin", "when", "w"]
        where !ambiguous.contains(where: { $0.0 == key }) {
            ambiguous.append((key, key == "sourceURI" ? .string("kiicloud://topics/\(marker)") : secret))
        }
        all.append(ambiguous)
        all.append(members.map { ($0.key, .array([.object([("k", secret)])])) })
        all.append(members.map { ($0.key, secret) })
        return all.map { DataValue.object($0).json }
    }

    // MARK: What is said

    private func expectSilence(_ payload: RawPayload) async throws {
        let receiver = PushReceiver(app: "0123abcd", serving: .user("U-1"))
        let traces = TraceLog()
        receiver.onTrace(traces.add)
        receiver.onDirectPush { _, _ in }
        let outcome = await receiver.receive(payload)
        let again = await receiver.receive(payload)
        expectSilence("\(outcome)", "\(again)", "\(traces.traces)", "\(receiver.metrics)", outcome.reason ?? "")
        #expect(traces.traces.count == 2)
        do {
            let message = try PushMessage(payload, app: "0123abcd")
            let words = message.classification
            expectSilence("\(words.conflicts)", "\(words.kind) \(words.certainty)", "\(message.dialect)")
            if payload.transport != .quickblox { expectSilence("\(words.evidence)") }
            do {
                _ = try message.data.decode([String: Int].self)
            } catch {
                expectSilence("\(error)")
            }
        } catch {
            var dumped = ""
            dump(error, to: &dumped)
            expectSilence("\(error)", error.detail, String(reflecting: error), dumped)
        }
    }

    private func expectSilence(_ words: String...) {
        for word in words { #expect(!word.contains(Self.marker), "\(word)") }
    }
}
