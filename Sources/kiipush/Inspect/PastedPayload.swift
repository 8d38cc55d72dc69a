import KiiPush

/// A payload as people paste it: JSON, a line of a capture, or what a log or a debugger prints.
struct PastedPayload {
    /// The limits of the decoder, the same for every command.
    static let limits = PayloadLimits.standard

    /// Enough for the largest payload with every byte escaped, and the rest of a captured line.
    static let mostBytes = limits.bytes * 6 + 4096

    /// The payload for a receiver: the bytes themselves, or the JSON of a description.
    let raw: RawPayload
    let message: PushMessage

    /// Decodes a payload; its network is by default that of a captured line, and Apple's for a description.
    ///
    /// - Throws: `DecodeError` with the position in `bytes`, also for a description.
    init(_ bytes: [UInt8], transport: Transport?, app: String?) throws(DecodeError) {
        if let line = try RecordedLine(bytes) {
            var raw = RawPayload(line.bytes, transport: transport ?? line.transport)
            raw.mqtt = line.mqtt
            let message = try Self.decode(raw, app) { error in
                line.offset.map { DecodeError(error.code, at: $0 + error.offset, error.detail) }
                    ?? error.moved(to: 0, inside: "'raw'")
            }
            self.init(raw, message)
            return
        }
        do throws(DecodeError) {
            let raw = RawPayload(bytes, transport: transport)
            self.init(raw, try PushMessage(raw, limits: Self.limits, app: app))
        } catch {
            guard error.code != .notAPush, let printed = try Self.printed(bytes, transport, app) else { throw error }
            self = printed
        }
    }

    private init(_ raw: RawPayload, _ message: PushMessage) { (self.raw, self.message) = (raw, message) }

    /// Reads a payload as a log or a debugger prints it; nil if the text is not such a payload.
    private static func printed(
        _ bytes: [UInt8], _ transport: Transport?, _ app: String?
    ) throws(DecodeError) -> PastedPayload? {
        if let (inner, offset) = try PrintedBytes.read(bytes) ?? QuotedPayload.read(bytes)
            ?? PythonBytes.read(bytes)
        {
            let raw = RawPayload(inner, transport: transport)
            return PastedPayload(raw, try decode(raw, app) { $0.moved(to: offset, inside: "what is printed here") })
        }
        if let json = PrintedMap.json(bytes) {
            let raw = RawPayload(json, transport: transport)
            return PastedPayload(raw, try decode(raw, app) { $0.moved(to: 0, inside: "the map") })
        }
        guard let description = try DescriptionReader(bytes) else { return nil }
        let raw = RawPayload(description.json, transport: transport ?? .apns)
        let message = try decode(raw, app) { error in
            DecodeError(error.code, at: description.place(of: error.offset), error.detail)
        }
        return PastedPayload(raw, message)
    }

    /// Decodes a payload whose errors have a place of their own in the pasted text.
    private static func decode(
        _ raw: RawPayload, _ app: String?, _ placed: (DecodeError) -> DecodeError
    ) throws(DecodeError) -> PushMessage {
        do throws(DecodeError) {
            return try PushMessage(raw, limits: limits, app: app)
        } catch {
            throw placed(error)
        }
    }

    /// A hint for a payload after other text, as in a log line; empty for any other.
    static func hint(_ bytes: [UInt8], _ error: DecodeError) -> String {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            return "; the payload begins with a byte order mark; send it as UTF-8 without one"
        }
        if let other = PrintedForm.hint(bytes, error) { return "; \(other)" }
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

extension DecodeError {
    /// The same error of a payload that is a part of the pasted text.
    fileprivate func moved(to offset: Int, inside place: String) -> DecodeError {
        DecodeError(code, at: offset, "in \(place), at byte \(self.offset): \(detail)")
    }
}
