import KiiPush

/// A payload as people paste it: JSON, or the property-list description of Apple's logs.
struct PastedPayload {
    /// The limits of the decoder, the same for every command.
    static let limits = PayloadLimits.standard

    /// The payload for a receiver: the bytes themselves, or the JSON of a description.
    let raw: RawPayload
    let message: PushMessage

    /// Decodes a payload.
    ///
    /// - Parameters:
    ///   - bytes: the payload.
    ///   - transport: its network; the default for a description is Apple's.
    ///   - app: the expected app.
    /// - Throws: `DecodeError` with the position in `bytes`, also for a description.
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

    /// A hint for a payload after other text, as in a log line; empty for any other.
    static func hint(_ bytes: [UInt8], _ error: DecodeError) -> String {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            return "; the payload begins with a byte order mark; send it as UTF-8 without one"
        }
        guard error.code != .notAPush, let brace = bytes.firstIndex(of: UInt8(ascii: "{")), error.offset < brace else {
            return ""
        }
        // Binary data, such as a picture, is not a log.
        guard let log = String(validating: bytes[..<brace], as: UTF8.self),
            log.unicodeScalars.allSatisfy({
                "\t\r\n".unicodeScalars.contains($0) || $0.properties.generalCategory != .control
            })
        else { return "" }
        let head = brace == 1 ? "first byte, which is" : "first \(brace) bytes, which are"
        return "; if this is a line of a log, leave out its \(head) no JSON"
    }
}
