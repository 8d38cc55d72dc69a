/// How many messages a deduplication store holds now and forgot too early; for ``SeenStore/counts``.
public struct SeenCounts: Sendable, Hashable {
    /// The window of the messages of one strength.
    public struct Window: Sendable, Hashable {
        /// How many handled messages the store holds now, including expired ones that are not removed yet.
        public var remembered: Int
        /// How many messages were forgotten by count before their time was over, since the store was made.
        ///
        /// While it grows, ``SeenWindow/count`` is too small, and a message that is delivered again late is handled
        /// again.
        public var evictedEarly: Int

        /// Sets both.
        public init(remembered: Int = 0, evictedEarly: Int = 0) {
            self.remembered = remembered
            self.evictedEarly = evictedEarly
        }
    }

    /// How many messages are being handled now: leases that have not ended.
    public var inFlight: Int
    /// The messages with strong keys.
    public var strong: Window
    /// The messages with a weak key.
    public var weak: Window

    /// Sets all.
    public init(inFlight: Int = 0, strong: Window = Window(), weak: Window = Window()) {
        self.inFlight = inFlight
        self.strong = strong
        self.weak = weak
    }
}
