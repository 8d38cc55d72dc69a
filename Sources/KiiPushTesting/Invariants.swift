public import KiiPush

/// What holds for every input, whoever made it.
///
/// The fuzz programs check it for millions of inputs, and the tests for every input that was ever kept: one list, so
/// that what a fuzzer finds stays found.
@_spi(Hostile)
public enum Invariants {
    /// A promise that an input made the library break; names the promise, and nothing of the input.
    public struct Broken: Error, CustomStringConvertible {
        /// What should have held.
        public let description: String
    }

    /// The transports that decide how a payload is read, and none.
    public static let transports: [Transport?] = [nil, .apns, .fcm, .jpush, .mqtt, .quickblox]

    /// Decodes any bytes, as each transport would bring them, and reads all there is to read.
    ///
    /// - Throws: what does not hold.
    public static func check(payload bytes: [UInt8]) throws(Broken) {
        for transport in transports { try check(RawPayload(bytes, transport: transport)) }
    }

    /// Decodes one payload: it is a message that keeps its promises, or an error that points into it.
    ///
    /// - Throws: what does not hold.
    public static func check(_ payload: RawPayload) throws(Broken) {
        let message: PushMessage
        do throws(DecodeError) {
            message = try PushMessage(payload, app: "0123abcd")
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

    /// Reads any text as a `kiicloud://` URI; what is one prints as it was read.
    ///
    /// - Throws: what does not hold.
    public static func check(uri text: String) throws(Broken) {
        if let uri = KiiURI(text) {
            try hold(uri.description.utf8.elementsEqual(text.utf8), "a URI prints as it was read")
            try hold(KiiURI(uri.description) == uri, "a printed URI reads as the same one")
        }
        if let target = KillTarget(text) {
            try hold(target.description.utf8.elementsEqual(text.utf8), "a target prints as it was typed")
        }
    }

    /// Reads any text as QuickBlox's `event.message`; what is one is the same when it was encoded again.
    ///
    /// - Throws: what does not hold.
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
