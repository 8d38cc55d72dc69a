import KiiPush
import KiiPushRules

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
            // The offset that begins a dump looks like the status of a reply of Kii's API.
            guard error.code != .notAPush || PrintedBytes.isDump(bytes),
                let printed = try Self.printed(bytes, transport, app)
            else { throw error }
            self = printed
        }
    }

    private init(_ raw: RawPayload, _ message: PushMessage) { (self.raw, self.message) = (raw, message) }

    /// Reads a payload as a log or a debugger prints it; nil if the text is not such a payload.
    private static func printed(
        _ bytes: [UInt8], _ transport: Transport?, _ app: String?
    ) throws(DecodeError) -> PastedPayload? {
        if let (inner, offset) = try PrintedBytes.read(bytes) ?? QuotedPayload.read(bytes)
            ?? QuotedBytes.read(bytes)
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
        if error.code == .notAnObject, bytes[error.offset] == UInt8(ascii: "["), bytes.contains(UInt8(ascii: "{")) {
            return "; if the items of this list are payloads, write each on a line, and use --lines"
        }
        if let other = PrintedForm.hint(bytes, error) { return "; \(other)" }
        guard error.code != .notAPush, let brace = bytes.firstIndex(of: UInt8(ascii: "{")), error.offset < brace else {
            return ""
        }
        // Binary data, such as a picture, is not a log, and nor is a byte order mark.
        guard let log = String(validating: bytes[..<brace], as: UTF8.self),
            log.unicodeScalars.allSatisfy({
                "\t\r\n".unicodeScalars.contains($0)
                    || $0.properties.generalCategory != .control && $0 != "\u{FEFF}"
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

/// The payload in a line that `kiipush receive --capture` or `kiipush tap --format json` wrote.
struct RecordedLine {
    let bytes: [UInt8]
    let transport: Transport?
    let mqtt: MQTTPublish?
    /// The offset in the line that corresponds to the payload's first byte; nil if its text has escapes.
    let offset: Int?

    /// Reads a line; nil if it is not one of these.
    ///
    /// - Throws: the error that `tap` reports for a payload that could not be decoded.
    init?(_ line: [UInt8]) throws(DecodeError) {
        guard line.first == UInt8(ascii: "{") else { return nil }
        let text = line.span
        var members: [String: JSONToken] = [:]
        var all = ObjectMembers(text)
        while let (key, value) = all.next(text) { members[key.string(in: text)] = value }
        let isOneLine = !line.split(separator: UInt8(ascii: "\n")).dropFirst().contains { $0.contains { $0 > 0x20 } }
        let isOfTap = isOneLine && members["outcome"] != nil && members["routes"] != nil
        guard isOfTap || members["at"] != nil && Self.isStep(line) else { return nil }
        let name = (members["transport"] ?? members["source"])?.string(in: text)
        transport = name.flatMap { $0 == "-" ? nil : Transport($0) }
        mqtt = members["mqtt"].flatMap { MQTTPublish(DataValue(text, $0)) }
        if let payload = members["payload"], payload.kind == .object {
            (bytes, offset) = (Array(line[payload.range]), payload.range.lowerBound)
        } else if let raw = members["raw"], raw.kind == .string {
            (bytes, offset) = (raw.bytes(in: text), nil)
        } else {
            guard isOfTap else { return nil }
            let error = members["error"].map { DataValue(text, $0) }
            let code = error?["code"]?.string.flatMap { DecodeError.Code(rawValue: $0) }
            throw DecodeError(
                code ?? .notAPush, at: 0, error?["message"]?.string ?? "this line of 'kiipush tap' has no payload")
        }
    }

    private static func isStep(_ line: [UInt8]) -> Bool {
        var corpus = RuleCorpus(file: "")
        guard let step = try? corpus.step(line, number: 1), case .receive = step.action else { return false }
        return true
    }
}
