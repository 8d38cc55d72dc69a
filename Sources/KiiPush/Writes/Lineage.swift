/// Counts the handlers that a message or an object has passed through, according to its stamp.
///
/// A handler that sends a Push to User adds the stamp with ``HandlerContext/stamp``; each handler that answers it
/// increments the count. Kii allows only flat data, so the stamp is one string under the key `_kl`:
/// `1;<hops>;<origin>;<time>;<maker>`, without the maker if that is the origin, and without both if the time is not
/// known. A Push to App carries no stamp; the object does, and the handler that fetches it reads the stamp with
/// ``HandlerContext/continuing(_:modifiedAt:)``.
///
/// The stamp of an object stays in it when somebody changes another field. So it counts only if it was made within
/// 30 seconds of the object's time of modification, by another device, and until this device finds the object
/// modified again with the same stamp. A stamp that this device made itself counts only if the object was modified
/// after the message was sent, and adds no handler: the next stamp repeats its count. A stamp has the server's time,
/// which is that of the answered message and what has passed since it arrived: a device's wall clock may say 1970. One
/// that answers a message without a time, or more than 30 seconds late, does not count. The pace still bounds such
/// loops.
public struct Lineage: Sendable, Hashable {
    /// The key of the stamp in a message's data, from which ``MessageData`` leaves it out.
    public static let key = NetworkKeys.stamp
    /// How far an object's time of modification may be from the time of its stamp.
    package static let lifetime = Duration.seconds(30)
    /// The number of handlers in the chain: 1 in the first message.
    public let hops: Int
    /// The receiver that sent the first message, by an id that is opaque to others.
    ///
    /// 1 to 64 ASCII letters, digits, and `.`, `_`, `:` and `-`; a stamp with another origin is ignored.
    public let origin: String
    /// When the stamp was made, by the server's clock, in milliseconds since 1970; nil if that was not known.
    public let time: Int64?
    /// The receiver that made this stamp, in the form of an origin; the origin itself for a stamp without a time.
    public let maker: String

    /// Makes a lineage; the maker is the origin unless you say otherwise.
    public init(hops: Int, origin: String, time: Int64? = nil, maker: String? = nil) {
        self.hops = hops
        self.origin = origin
        self.time = time
        self.maker = time == nil ? origin : maker ?? origin
    }

    /// Reads a stamp; nil if it is not one, of another version, or has more than nine digits of hops.
    ///
    /// Its contents are safe in logs and environments. A forged stamp can only cause its own message to be dropped.
    public init?(_ stamp: String) {
        let bytes = stamp.utf8
        guard bytes.count <= 192 else { return nil }
        let parts = bytes.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        guard (3...5).contains(parts.count), parts[0].elementsEqual("1".utf8) else { return nil }
        guard let hops = Self.number(parts[1], digits: 9), Self.isName(parts[2]) else { return nil }
        let time = parts.count > 3 ? Self.number(parts[3], digits: 15) : nil
        guard parts.count == 3 || time != nil, parts.count < 5 || Self.isName(parts[4]) else { return nil }
        self.init(
            hops: Int(hops), origin: String(decoding: parts[2], as: UTF8.self), time: time,
            maker: parts.count == 5 ? String(decoding: parts[4], as: UTF8.self) : nil)
    }

    /// The times that a stamp can state, of at most 15 digits.
    static let times = 0...Int64(999_999_999_999_999)

    private static func number(_ text: Substring.UTF8View, digits: Int) -> Int64? {
        guard (1...digits).contains(text.count), text.allSatisfy({ $0.isDigit }) else { return nil }
        return text.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }

    private static func isName(_ text: Substring.UTF8View) -> Bool {
        (1...64).contains(text.count)
            && text.allSatisfy { $0.isDigit || (0x61...0x7A).contains($0 | 0x20) || "._:-".utf8.contains($0) }
    }

    /// Whether it was made within its lifetime of a time of modification.
    func isMade(near modifiedAt: Int64) -> Bool {
        time.map { $0.since(modifiedAt).magnitude <= Self.lifetime.inNanoseconds / 1_000_000 } ?? false
    }

    static func canName(_ origin: String) -> Bool { isName(Substring(origin).utf8) }

    /// The lineage of a message that a handler of this one sends, without the time.
    var next: Lineage { Lineage(hops: min(hops + 1, 999_999_999), origin: origin) }

    /// The same, with the time and the maker of a stamp.
    func stamped(at time: Int64?, by maker: String) -> Lineage {
        Lineage(hops: hops, origin: origin, time: time.flatMap { Self.times.contains($0) ? $0 : nil }, maker: maker)
    }

    /// The stamp's text.
    public var stamp: String {
        guard let time else { return "1;\(hops);\(origin)" }
        let text = "1;\(hops);\(origin);\(time)"
        return maker == origin ? text : text + ";\(maker)"
    }
}

extension PushMessage {
    /// The handlers that the message has passed through; nil without a readable stamp, which counts as none.
    public var lineage: Lineage? {
        let token = storage.stamp
        guard token.kind == .string else { return nil }
        let buffer = storage.buffer
        return Lineage(token.string(in: buffer.span.extracting(storage.payloadRange)))
    }

    /// The server's time when it made the push, if the push states it.
    var serverTime: Int64? {
        // In a Direct Push, these fields would be the sender's.
        guard kind != .directPush, let time = sentAt ?? modifiedAt else { return nil }
        return max(time, modifiedAt ?? time)
    }
}
