public import KiiPush
public import KiiPushRules

/// The result of one payload that a test sent, complete with everything that it caused.
public struct TestReceipt: Sendable {
    /// Its outcome; `paced` if it has to wait, and then a receipt of ``TestReceiver/advance(by:)`` has the final one.
    public let outcome: Outcome

    /// The ids of the matching routes, in order, also for a message that a middleware dropped.
    public let routes: [String]

    /// The handlers that were called, in order, failed ones included: by their names in rules, or else by their routes'
    /// ids.
    public let handlers: [String]

    /// The rules' cloud actions that were simulated, in order; a test calls no cloud.
    public let cloud: [CloudAction]

    /// What the sender of a command gets; nil for other messages, for a duplicate, and for one that has to wait.
    public let answer: Answer?

    /// The results for the transport and the deduplication store.
    public let settled: Settled

    /// The number of the message's first delivery, if it had to wait; that of this one is in the trace.
    public let first: UInt64?

    /// Each stage's result; the times are those of the test's clock.
    public let trace: Trace

    /// The receipts of other messages that ended in between, in order: those that handlers sent to the receiver.
    public let caused: [TestReceipt]

    /// The results of a message for the transport and the deduplication store.
    public struct Settled: Sendable, Hashable {
        /// The transport's disposition.
        public let disposition: Disposition
        /// The effect on the deduplication store; nil if nothing was reserved there, as for a duplicate.
        public let seen: Trace.SeenEffect?

        /// Makes a value to compare with.
        public init(_ disposition: Disposition, seen: Trace.SeenEffect?) {
            self.disposition = disposition
            self.seen = seen
        }
    }

    init(_ ended: ReceiverHarness.Ended) {
        trace = ended.trace
        first = ended.first
        answer = ended.answer
        outcome = trace.outcome
        routes = trace.routes
        handlers = trace.handlers
        settled = Settled(trace.outcome.disposition, seen: trace.seen)
        caused = ended.caused.map { TestReceipt($0) }
        cloud = ended.cloud
    }
}
