public import KiiPush

extension QuickBloxEvent {
    /// The text for `event.message`, as a sender writes it.
    public var encoded: String {
        switch self {
        case .pairs(let pairs): return Self.joined(pairs, "")
        case .ios(let json): return "payload=" + Self.base64(json)
        case .android(let pairs):
            let message = pairs.filter { $0.key.isExactly("message") }
            // QuickBlox requires a message, and that it comes first.
            return Self.joined(
                (message.isEmpty ? [Pair("message", "")] : message) + pairs.filter { !$0.key.isExactly("message") },
                "data.")
        case .text(let text), .json(let text): return Self.base64(text)
        }
    }

    private static func joined(_ pairs: [Pair], _ prefix: String) -> String {
        pairs.map { pair in
            let escaped = pair.value.percentEncoded(except: "-_. ").replacingScalars { $0 == " " ? "+" : nil }
            return "\(prefix)\(pair.key)=\(base64(escaped))"
        }.joined(separator: "&")
    }

    private static func base64(_ text: String) -> String { Base64.encode(Array(text.utf8)) }
}
