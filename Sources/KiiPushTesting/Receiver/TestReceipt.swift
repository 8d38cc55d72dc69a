public import KiiPush
public import KiiPushRules

/// What became of one payload that a test sent, when all that it caused is done.
public struct TestReceipt: Sendable {
    /// How it ended; `held` while the loop guard holds it, and then a receipt of ``TestReceiver/advance(by:)`` says the
    /// end.
    public let outcome: Outcome

    /// The ids of the routes that take it, in order, also those that a stage stopped.
    public let routes: [String]

    /// The handlers that were called, in order, failed ones too: by the name that a rule calls one by, else by the
    /// route's id.
    public let handlers: [String]

    /// What rules would have done to Kii's cloud, in order; a test calls none.
    public let cloud: [CloudAction]

    /// What the transport and the seen store are told.
    public let settled: Settled

    /// What each stage said; its times are those of the test's clock.
    public let trace: Trace

    /// What else ended meanwhile, in order: held messages that it released, and what handlers sent into the receiver.
    public let caused: [TestReceipt]

    /// What the transport and the seen store are told of a message.
    public struct Settled: Sendable, Hashable {
        /// What the transport is told.
        public let disposition: Disposition
        /// What the seen store is told; nil when nothing was reserved in it, as for a duplicate.
        public let seen: Trace.SeenEffect?

        /// Names an end, to compare with.
        public init(_ disposition: Disposition, seen: Trace.SeenEffect?) {
            self.disposition = disposition
            self.seen = seen
        }
    }

    init(_ ended: ReceiverHarness.Ended) {
        trace = ended.trace
        outcome = trace.outcome
        routes = trace.routes
        handlers = trace.handlers
        settled = Settled(trace.outcome.disposition, seen: trace.seen)
        caused = ended.caused.map { TestReceipt($0) }
        cloud = ended.cloud
    }
}
