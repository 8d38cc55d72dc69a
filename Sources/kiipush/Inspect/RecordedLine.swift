import KiiPush
import KiiPushRules

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
                code ?? .notAPush, at: 0,
                error?["message"]?.string ?? "this line of 'kiipush tap' has no payload")
        }
    }

    private static func isStep(_ line: [UInt8]) -> Bool {
        var corpus = RuleCorpus(file: "")
        guard let step = try? corpus.step(line, number: 1), case .receive = step.action else { return false }
        return true
    }
}
