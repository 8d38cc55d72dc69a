/// Through how many handlers a Push to User has come, as its stamp says.
///
/// A handler that sends a Push to User adds the stamp with ``HandlerContext/stamp``; each handler that answers
/// it counts one more. Kii allows only flat data, so it is one string: `1;<hops>;<origin>` under the key `_kl`. A Push
/// to App cannot carry one.
public struct Lineage: Sendable, Hashable {
    /// The key of the stamp in a message's data, from which ``MessageData`` leaves it out.
    public static let key = NetworkKeys.stamp

    /// How many handlers have sent on what the first one sent; that one's message has 1.
    public let hops: Int

    /// Who sent the first one: an id of that receiver, free of meaning to any other.
    public let origin: String

    /// Names a lineage.
    public init(hops: Int, origin: String) {
        self.hops = hops
        self.origin = origin
    }

    /// Reads a stamp; nil when it is none, or of another version.
    ///
    /// More than nine digits of hops are taken for damage, not for a number: whoever forges one can only have their own
    /// message cut.
    public init?(_ stamp: String) {
        let parts = stamp.utf8.split(separator: UInt8(ascii: ";"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].elementsEqual("1".utf8), (1...9).contains(parts[1].count) else { return nil }
        guard parts[1].allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        hops = parts[1].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        origin = String(decoding: parts[2], as: UTF8.self)
    }

    /// The lineage of a message that a handler of this one sends.
    var next: Lineage { Lineage(hops: min(hops + 1, 999_999_999), origin: origin) }

    /// The stamp's text.
    public var stamp: String { "1;\(hops);\(origin)" }
}

extension PushMessage {
    /// Through how many handlers the message has come; nil without a readable stamp, which counts as none.
    public var lineage: Lineage? {
        let token = storage.stamp
        guard token.kind == .string else { return nil }
        let buffer = storage.buffer
        return Lineage(token.string(in: buffer.span.extracting(storage.payloadRange)))
    }
}
