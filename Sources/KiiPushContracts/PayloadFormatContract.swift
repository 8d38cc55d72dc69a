public import KiiPush
@_spi(Hostile) import KiiPushTesting
public import Testing

/// All guarantees that a `PayloadFormat` must keep, as one test to run against your own format.
///
/// ```swift
/// @Test("my format meets the guarantees of a payload format")
/// func contract() async {
///     let payloads = ["id=1\nfrom=cellar\nkind=temp\nvalue=4", "id=2\nfrom=cellar\nkind=temp\nroom=b\n"]
///     await PayloadFormatContract(KeyValueLines(), payloads: payloads).verify()
/// }
/// ```
///
/// A failure names the broken guarantee, and which payload broke it by its number, from 0. The suite cuts and changes
/// each payload in up to 400 ways, so give it a few small ones that differ: with and without what is optional.
public struct PayloadFormatContract: Sendable {
    let format: any PayloadFormat
    let payloads: [RawPayload]

    /// Takes valid payloads of the format, at least one, each another message; of any transport.
    public init(_ format: any PayloadFormat, payloads: [RawPayload]) {
        self.format = format
        self.payloads = payloads
    }

    /// The same for payloads that are text, without a transport.
    public init(_ format: any PayloadFormat, payloads: [String]) {
        self.init(format, payloads: payloads.map { RawPayload($0) })
    }

    /// Checks every guarantee, and records an issue for each one that is broken.
    public func verify(sourceLocation: SourceLocation = #_sourceLocation) async {
        await verify { guarantee, what in Issue.record("\(guarantee): \(what)", sourceLocation: sourceLocation) }
    }

    /// Checks every guarantee, and reports each broken one to `report`.
    package func verify(_ report: (_ guarantee: String, _ what: String) -> Void) async {
        if payloads.isEmpty { report("the suite has payloads", "there is none") }
        for guarantee in PayloadFormatGuarantee.all {
            for what in await guarantee.check(self) { report(guarantee.text, what) }
        }
    }

    var alone: PayloadFormats { PayloadFormats([format]) }

    var besideShipped: PayloadFormats {
        PayloadFormats.shipped.names.contains(format.name) ? .shipped : .shipped.adding(format)
    }

    /// Decodes each payload; nil for one that is refused.
    func messages(_ formats: PayloadFormats) -> [PushMessage?] {
        payloads.map { try? PushMessage($0, formats: formats) }
    }
}

/// One guarantee of a payload format, and the check for it, which returns what breaks it.
struct PayloadFormatGuarantee: Sendable {
    let text: String
    let check: @Sendable (PayloadFormatContract) async -> [String]

    init(_ text: String, check: @escaping @Sendable (PayloadFormatContract) async -> [String]) {
        self.text = text
        self.check = check
    }

    /// Every guarantee, in the order of the protocol's documentation.
    static let all = [
        Self("a payload of the format is a certain Direct Push of it") { suite in
            suite.payloads.enumerated().compactMap { number, payload in
                do throws(DecodeError) {
                    let message = try PushMessage(payload, formats: suite.alone)
                    guard message.format == suite.format.name else {
                        return "payload \(number) is of \(message.format ?? "no format")"
                    }
                    return message.certainty == .certain ? nil : "payload \(number) is \(message.certainty.rawValue)"
                } catch {
                    return "payload \(number) is refused: \(error)"
                }
            }
        },
        Self("the evidence of a JSON object is keys that it has") { suite in
            suite.messages(suite.alone).enumerated().compactMap { number, message in
                guard let message else { return nil }
                let text = String(decoding: message.raw.bytes, as: UTF8.self)
                guard case .object(let members)? = DataValue(json: text) else { return nil }
                let wrong = message.classification.evidence.first { key in !members.contains { $0.key.isExactly(key) } }
                return wrong.map { "payload \(number) has no key '\($0)'" }
            }
        },
        Self("a message keeps its payload, and reads the same again") { suite in
            zip(suite.messages(suite.alone), suite.messages(suite.alone)).enumerated().compactMap { number, pair in
                guard let first = pair.0, let second = pair.1 else { return nil }
                if first.raw != suite.payloads[number] { return "payload \(number) was changed" }
                return first.isRead(like: second) ? nil : "payload \(number) was read in two ways"
            }
        },
        Self("two messages have two identities") { suite in
            let keys = suite.messages(suite.alone).map { $0?.dedupeKeys(secret: .published) }
            return keys.indices.compactMap { number in
                guard let key = keys[number], let other = keys[..<number].firstIndex(of: key) else { return nil }
                return "payload \(number) has the key of payload \(other): give each another id, or none"
            }
        },
        Self("a payload of Kii is not of the format") { suite in
            PayloadFixture.kiis.compactMap { name, payload in
                guard let message = try? PushMessage(payload, formats: suite.alone) else { return "\(name) is refused" }
                return message.format == nil ? nil : "\(name) is claimed"
            }
        },
        Self("no shipped format claims its payloads, nor it theirs") { suite in
            let formats = suite.besideShipped
            let own = suite.messages(formats).enumerated().compactMap { number, message in
                message?.format == suite.format.name && message?.certainty == .certain
                    ? nil : "payload \(number) is claimed by another format, too"
            }
            return own
                + PayloadFixture.shipped.compactMap { name, payload in
                    let message = try? PushMessage(payload, formats: formats)
                    return message?.format == name && message?.certainty == .certain
                        ? nil : "a payload of \(name) is claimed"
                }
        },
        Self("a cut or changed payload is read or refused, and nothing else") { suite in
            suite.payloads.enumerated().compactMap { number, payload in
                for changed in payload.changed {
                    do throws(Invariants.Broken) {
                        try Invariants.check(changed, formats: suite.alone)
                    } catch {
                        return "of payload \(number), changed: \(error)"
                    }
                }
                return nil
            }
        },
        Self("64 KiB take less than a second") { suite in
            let clock = ContinuousClock()
            return suite.payloads.enumerated().compactMap { number, payload in
                var large = payload
                while large.bytes.count < 32_768, !large.bytes.isEmpty { large.bytes += large.bytes }
                let time = (0..<3).map { _ in
                    clock.measure { _ = try? PushMessage(large, formats: suite.alone) }
                }.min()
                return time.map { $0 < .seconds(1) } ?? true ? nil : "payload \(number), repeated, took longer"
            }
        },
        Self("a receiver routes it by its format and handles it once") { suite in
            let clock = ManualClock()
            let receiver = PushReceiver(formats: suite.alone, clock: clock) { Deduplicator(clock: clock) }
            receiver.onDirectPush(id: "own", format: .exactly(suite.format.name)) { _, _ in }
            var broken: [String] = []
            for (number, payload) in suite.payloads.enumerated() {
                for expected in ["handled", "duplicate (done)"] {
                    let outcome = await receiver.receive(payload).description
                    if outcome != expected { broken.append("payload \(number) was \(outcome), not \(expected)") }
                }
            }
            return broken
        },
    ]
}

extension PushMessage {
    fileprivate func isRead(like other: PushMessage) -> Bool {
        guard let mine = ForeignPushMessage(self), let theirs = ForeignPushMessage(other) else { return false }
        return mine.id == theirs.id && mine.source == theirs.source && mine.type == theirs.type
            && mine.subject == theirs.subject && mine.sentAt == theirs.sentAt && mine.expiresAt == theirs.expiresAt
            && alert == other.alert && data.members.map(\.key) == other.data.members.map(\.key)
            && DataValue.object(data.members) == DataValue.object(other.data.members)
    }
}

extension RawPayload {
    /// Its beginnings, and itself with one byte changed: at 64 places each.
    fileprivate var changed: [RawPayload] {
        let places = stride(from: 0, to: bytes.count, by: max(bytes.count / 64, 1))
        return places.flatMap { place in
            var (cut, flipped, zero) = (self, self, self)
            cut.bytes.removeLast(bytes.count - place)
            flipped.bytes[place] ^= 1
            zero.bytes[place] = 0
            return [cut, flipped, zero]
        }
    }
}

extension PayloadFixture {
    /// Payloads of Kii in its key styles, by name.
    fileprivate static let kiis: [(name: String, payload: RawPayload)] =
        [KeyStyle.long, .short].flatMap { style in
            [
                ("a Push to App", PayloadFixture.pushToApp().payload(style)),
                ("a Push to User", PayloadFixture.pushToUser(data: [("text", .string("x"))]).payload(style)),
                ("a Direct Push", PayloadFixture.directPush(data: [("text", .string("x"))]).payload(style)),
            ]
        } + [
            ("an empty push", RawPayload("{}")),
            ("a command", RawPayload(#"{"commandID":"c-1","issuer":"user:u","actions":[{"Air":[{"on":true}]}]}"#)),
        ]

    /// A payload of each shipped format, by the format's name.
    fileprivate static let shipped: [(name: String, payload: RawPayload)] = [
        (
            "cloudevents",
            RawPayload(#"{"specversion":"1.0","id":"1","source":"/a","type":"com.example.a","data":{"b":1}}"#)
        ),
        ("ntfy", RawPayload(#"{"id":"aB3","time":1760000000,"event":"message","topic":"t","message":"m"}"#)),
        ("quickblox", RawPayload(#"{"message":"m","dialog_id":"d-1","user_id":"7"}"#)),
        ("quickblox", RawPayload("SGVsbG8=", transport: .quickblox)),
    ]
}
