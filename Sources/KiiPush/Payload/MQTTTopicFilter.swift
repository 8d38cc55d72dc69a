/// A topic filter of MQTT: a topic, in which `+` stands for one level and a final `#` for any further ones.
///
/// `sport/+/score` matches `sport/tennis/score`; `sport/#` matches `sport` and everything below it. A filter that
/// begins with a wildcard matches no topic that begins with `$`, which are the broker's own (MQTT 5.0, 4.7).
public struct MQTTTopicFilter: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    /// Reads a filter.
    ///
    /// - Throws: ``Problem`` if brokers refuse it.
    public init(_ text: String) throws(Problem) {
        if let what = Self.wrong(text) { throw Problem(description: what) }
        self.text = text
    }

    /// What is wrong with a filter, and what to do.
    public struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
        /// The problem in words, without the filter's text.
        public let description: String
    }

    /// The filter's text.
    public var description: String { text }

    /// Whether it stands for one topic.
    package var isTopic: Bool { !text.utf8.contains(UInt8(ascii: "+")) && !text.utf8.contains(UInt8(ascii: "#")) }

    /// Whether a topic, without wildcards, matches.
    public func matches(_ topic: String) -> Bool {
        var (filter, topic) = (text.utf8[...], topic.utf8[...])
        if topic.first == UInt8(ascii: "$"), filter.first != UInt8(ascii: "$") { return false }
        while true {
            let (wanted, hasMoreWanted) = Self.level(&filter)
            if wanted.elementsEqual("#".utf8) { return true }
            let (level, hasMore) = Self.level(&topic)
            guard wanted.elementsEqual("+".utf8) || wanted.elementsEqual(level) else { return false }
            if !hasMore {
                // `a/#` matches `a` too.
                return !hasMoreWanted || filter.elementsEqual("#".utf8)
            }
            if !hasMoreWanted { return false }
        }
    }

    /// Takes the first level, and whether a further one follows.
    private static func level(_ text: inout Substring.UTF8View) -> (Substring.UTF8View, Bool) {
        guard let end = text.firstIndex(of: UInt8(ascii: "/")) else { return (text, false) }
        defer { text = text[text.index(after: end)...] }
        return (text[..<end], true)
    }

    private static func wrong(_ text: String) -> String? {
        if text.isEmpty { return "expected a topic filter, found an empty one" }
        if text.utf8.count > 65_535 { return "expected a topic filter of at most 65535 bytes" }
        if text.begins(exactlyWith: "$share/") || text.begins(exactlyWith: "$queue/") {
            return "a shared subscription gives each message to one of several clients, in no order; expected a filter "
                + "of this device's own"
        }
        if text.hasControlCharacters { return "expected a topic filter without control characters" }
        let levels = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (number, level) in levels.enumerated() where level.count > 1 || number < levels.count - 1 {
            if level.contains(UInt8(ascii: "#")) { return "expected '#' only as the last level, alone" }
            if level.count > 1, level.contains(UInt8(ascii: "+")) { return "expected '+' only as a whole level" }
        }
        return nil
    }
}
