import KiiPush

/// A payload as people have it: the JSON, or the property-list description that Apple's logs print of one.
struct PastedPayload {
    /// What is read, whatever command reads it.
    static let limits = PayloadLimits.standard

    /// What a receiver is to get: the bytes themselves, or the JSON of a description.
    let raw: RawPayload
    let message: PushMessage

    /// Decodes a payload.
    ///
    /// - Parameters:
    ///   - bytes: the payload.
    ///   - transport: the network it came over; a description is Apple's where none is given.
    ///   - app: the app that it should be of.
    /// - Throws: `DecodeError` with the place in `bytes`, also of a description.
    init(_ bytes: [UInt8], transport: Transport?, app: String?) throws(DecodeError) {
        do throws(DecodeError) {
            let payload = RawPayload(bytes, transport: transport)
            message = try PushMessage(payload, limits: Self.limits, app: app)
            raw = payload
        } catch {
            guard error.code != .notAPush, let description = try DescriptionReader(bytes) else { throw error }
            let payload = RawPayload(description.json, transport: transport ?? .apns)
            message = try Self.decode(payload, of: description, app: app)
            raw = payload
        }
    }

    private static func decode(
        _ raw: RawPayload, of description: DescriptionReader, app: String?
    ) throws(DecodeError) -> PushMessage {
        do throws(DecodeError) {
            return try PushMessage(raw, limits: limits, app: app)
        } catch {
            throw DecodeError(error.code, at: description.place(of: error.offset), error.detail)
        }
    }

    /// What to do about a payload with something before it, as in a line of a log; empty for any other.
    static func hint(_ bytes: [UInt8], _ error: DecodeError) -> String {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            return "; the payload begins with a byte order mark; send it as UTF-8 without one"
        }
        guard error.code != .notAPush, let brace = bytes.firstIndex(of: UInt8(ascii: "{")), error.offset < brace else {
            return ""
        }
        // Whoever inspects a picture has no log before them.
        guard let log = String(validating: bytes[..<brace], as: UTF8.self),
            log.unicodeScalars.allSatisfy({
                "\t\r\n".unicodeScalars.contains($0) || $0.properties.generalCategory != .control
            })
        else { return "" }
        let head = brace == 1 ? "first byte, which is" : "first \(brace) bytes, which are"
        return "; if this is a line of a log, leave out its \(head) no JSON"
    }
}
