import KiiPush

extension MQTTSettings {
    /// Parses an address: `mqtt[s]://[user@]host[:port][/topic]`.
    ///
    /// `mqtts` uses TLS. The default port is 1883, with TLS 8883. User and topic may have percent-escapes; the topic is
    /// everything after the first slash behind the host, including further slashes, and may be a filter with `+` and
    /// `#`. Without one, set ``subscriptions`` yourself. An IPv6 address is in brackets. A password is not allowed
    /// here, since every user of the machine can see a program's arguments: name a file, see ``password``.
    ///
    /// - Parameters:
    ///   - address: the address.
    ///   - source: the name of the address in errors, such as its option.
    /// - Throws: ``MQTTSettingsError`` with the position of the error.
    public init(address: String, source: String = "address") throws(MQTTSettingsError) {
        var reader = AddressReader(bytes: Array(address.utf8), source: source)
        let usesTLS = try reader.readScheme()
        let user = try reader.readUser()
        let host = try reader.readHost()
        let port = try reader.readPort()
        let topic = try reader.readTopic()
        self.init(host: host, port: port, topic: topic ?? "", usesTLS: usesTLS)
        if topic == nil { subscriptions = [] }
        self.user = user
    }
}

private struct AddressReader {
    let bytes: [UInt8]
    let source: String
    var offset = 0

    static let form = "mqtt[s]://[user@]host[:port][/topic]"

    func error(_ offset: Int, _ what: String) -> MQTTSettingsError {
        MQTTSettingsError(source, SourcePosition(line: 1, column: offset + 1), what)
    }

    mutating func readScheme() throws(MQTTSettingsError) -> Bool {
        for (scheme, usesTLS) in [("mqtt://", false), ("mqtts://", true)] where bytes.starts(with: scheme.utf8) {
            offset = scheme.utf8.count
            return usesTLS
        }
        throw error(0, "expected an address of the form \(Self.form)")
    }

    /// The end of the part before the path.
    private var authorityEnd: Int { bytes[offset...].firstIndex(of: UInt8(ascii: "/")) ?? bytes.count }

    mutating func readUser() throws(MQTTSettingsError) -> String? {
        guard let sign = bytes[offset..<authorityEnd].lastIndex(of: UInt8(ascii: "@")) else { return nil }
        if let colon = bytes[offset..<sign].firstIndex(of: UInt8(ascii: ":")) {
            throw error(
                colon, "a password is not accepted here, where other users could see it; name a file that contains it")
        }
        guard sign > offset else { throw error(offset, "expected a user before '@'") }
        let user = try decoded(offset..<sign, "user")
        offset = sign + 1
        return user
    }

    mutating func readHost() throws(MQTTSettingsError) -> String {
        let start = offset
        let end = authorityEnd
        if start < end, bytes[start] == UInt8(ascii: "[") {
            guard let bracket = bytes[start..<end].firstIndex(of: UInt8(ascii: "]")) else {
                throw error(start, "expected ']' behind an IPv6 address")
            }
            let address = bytes[start + 1..<bracket]
            guard address.allSatisfy("0123456789abcdefABCDEF:.".utf8.contains), address.contains(UInt8(ascii: ":"))
            else {
                throw error(start + 1, "expected an IPv6 address in the brackets")
            }
            offset = bracket + 1
            return String(decoding: address, as: UTF8.self)
        }
        let hostEnd = bytes[start..<end].firstIndex(of: UInt8(ascii: ":")) ?? end
        guard hostEnd > start else { throw error(start, "expected the broker's host; the form is \(Self.form)") }
        if let wrong = bytes[start..<hostEnd].firstIndex(where: { !isHostByte($0) }) {
            throw error(wrong, "expected a host of letters, digits, '.', '-' and '_'")
        }
        offset = hostEnd
        return String(decoding: bytes[start..<hostEnd], as: UTF8.self)
    }

    mutating func readPort() throws(MQTTSettingsError) -> Int? {
        let end = authorityEnd
        guard offset < end else { return nil }
        guard bytes[offset] == UInt8(ascii: ":") else { throw error(offset, "expected ':' and a port, or '/'") }
        let digits = bytes[offset + 1..<end]
        let isNumber = (1...5).contains(digits.count) && digits.allSatisfy(\.isDigit)
        guard isNumber, let port = Int(String(decoding: digits, as: UTF8.self)), (1...65535).contains(port) else {
            throw error(offset + 1, "expected a port from 1 to 65535")
        }
        offset = end
        return port
    }

    mutating func readTopic() throws(MQTTSettingsError) -> String? {
        guard offset < bytes.count else { return nil }
        let start = offset + 1
        guard start < bytes.count else { throw error(start, "expected the topic behind '/'") }
        if let mark = bytes[start...].firstIndex(of: UInt8(ascii: "?")) {
            throw error(mark, "an address has no '?'; write one of the topic as %3F")
        }
        let topic = try decoded(start..<bytes.count, "topic")
        if let what = MQTTSettings.wrong(filter: topic) { throw error(start, what) }
        return topic
    }

    /// A part without its percent-escapes.
    private func decoded(_ range: Range<Int>, _ what: String) throws(MQTTSettingsError) -> String {
        let escaped = Array(bytes[range])
        if let wrong = FormText.firstIncomplete(escaped) {
            throw error(range.lowerBound + wrong, "expected two hexadecimal digits behind '%'")
        }
        guard let text = String(validating: FormText.unescaped(escaped).bytes, as: UTF8.self) else {
            throw error(range.lowerBound, "the \(what) is not UTF-8")
        }
        return text
    }
}

private func isHostByte(_ byte: UInt8) -> Bool {
    byte.isDigit || byte.isASCIILetter || ".-_".utf8.contains(byte)
}
