public import KiiPush

/// Invariants that hold for every input, including hostile ones.
///
/// The fuzz programs check them for millions of inputs, and the tests for every input that was kept, so that a bug
/// found by a fuzzer stays fixed.
@_spi(Hostile)
public enum Invariants {
    /// An invariant that an input broke; names the invariant, and nothing of the input.
    public struct Broken: Error, CustomStringConvertible {
        /// The broken invariant.
        public let description: String
    }

    /// The transports that affect decoding, and none.
    public static let transports: [Transport?] = [nil, .apns, .fcm, .jpush, .mqtt, .quickblox]

    /// Decodes any bytes, as from each transport, and reads every property.
    ///
    /// - Throws: the broken invariant.
    public static func check(payload bytes: [UInt8]) throws(Broken) {
        for transport in transports {
            try check(RawPayload(bytes, transport: transport))
            try check(RawPayload(bytes, transport: transport), formats: .shipped.adding(MirrorFormat()))
        }
    }

    /// Decodes one payload: the result is a valid message, or an error with a position inside the payload.
    ///
    /// - Parameters:
    ///   - payload: the payload.
    ///   - formats: the formats of other systems.
    /// - Throws: the broken invariant.
    public static func check(_ payload: RawPayload, formats: PayloadFormats = .shipped) throws(Broken) {
        let message: PushMessage
        do throws(DecodeError) {
            message = try PushMessage(payload, app: "0123abcd", formats: formats)
        } catch {
            try hold((0...payload.bytes.count).contains(error.offset), "an error is inside the payload")
            try hold(error.description.contains(exactly: error.code.rawValue), "an error says its code")
            return
        }
        try hold(message.raw == payload, "a message keeps its payload as it was")
        try checkKind(message)
        try checkHandles(message)
        try checkContent(message)
        try checkKeys(message)
    }

    /// Parses any text as a `kiicloud://` URI; a valid one prints unchanged.
    ///
    /// - Throws: the broken invariant.
    public static func check(uri text: String) throws(Broken) {
        if let uri = KiiURI(text) {
            try hold(uri.description.utf8.elementsEqual(text.utf8), "a URI prints as it was read")
            try hold(KiiURI(uri.description) == uri, "a printed URI reads as the same one")
        }
        if let target = KillTarget(text) {
            try hold(target.description.utf8.elementsEqual(text.utf8), "a target prints as it was typed")
        }
    }

    /// Parses any text as QuickBlox's `event.message`; a valid one survives encoding and decoding.
    ///
    /// - Throws: the broken invariant.
    public static func check(quickBloxEvent text: String) throws(Broken) {
        let event: QuickBloxEvent
        do throws(DecodeError) {
            event = try QuickBloxEvent(text)
        } catch {
            return try hold((0...text.utf8.count).contains(error.offset), "an error is inside the text")
        }
        let again = try? QuickBloxEvent(event.encoded)
        try hold(again?.encoded == event.encoded, "an event that was encoded reads as the same one")
    }

    static func hold(_ condition: Bool, _ promise: String) throws(Broken) {
        if !condition { throw Broken(description: promise) }
    }
}

/// Claims every other payload, and returns as much of it as a format can: what the receiver bounds is then any input.
private struct MirrorFormat: PayloadFormat {
    let name = "mirror"

    func recognise(_ payload: borrowing PayloadView) -> Evidence? {
        payload.bytes.count % 2 == 0 ? Evidence(payload.members.map(\.key)) : nil
    }

    func read(_ payload: borrowing PayloadView) throws(DecodeError) -> ForeignPush {
        let text = payload.text
        if let text, text.utf8.count % 8 == 6 { throw DecodeError(.badEncoding, at: text.utf8.count * 2, text) }
        var push = ForeignPush(
            id: text, source: text, type: text, subject: text, sentAt: Int64(payload.bytes.count),
            alert: Alert(title: text, subtitle: nil, body: nil), data: text.map { .json($0) } ?? .payload)
        push.ownKeys = payload.members.map(\.key)
        if case .object(let members)? = payload.json { push.apple = members }
        return push
    }
}
