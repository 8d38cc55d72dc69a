public import KiiPush

extension RoutedMessage {
    /// Makes a message on its way through a chain, to test a middleware alone, without a receiver.
    ///
    /// ```swift
    /// var first = try RoutedMessage(forTesting: .pushToUser(sender: "chatty"), id: 1)
    /// #expect(quota.admit(&first) == .pass)
    /// quota.settle(first, .failed(at: "news", Unreachable()))
    /// ```
    ///
    /// - Parameters:
    ///   - fixture: the payload.
    ///   - style: the keys that it is written with.
    ///   - id: the message's number; give each message another one, as a receiver does.
    ///   - arrivedAt: when it arrived.
    ///   - app: the app that the receiver serves.
    ///   - routes: the ids of the routes that take it, in order of declaration.
    /// - Throws: `DecodeError` when the payload is no push message.
    public init(
        forTesting fixture: PayloadFixture, as style: PayloadFixture.KeyStyle = .long, id: UInt64 = 1,
        arrivedAt: MonotonicInstant = MonotonicInstant(nanoseconds: 0), app: String? = nil, routes: [String] = []
    ) throws(DecodeError) {
        try self.init(forTesting: fixture.payload(style), id: id, arrivedAt: arrivedAt, app: app, routes: routes)
    }

    /// Makes a message of a payload that is written down.
    ///
    /// - Parameters:
    ///   - payload: the payload.
    ///   - id: the message's number; give each message another one, as a receiver does.
    ///   - arrivedAt: when it arrived.
    ///   - app: the app that the receiver serves.
    ///   - routes: the ids of the routes that take it, in order of declaration.
    /// - Throws: `DecodeError` when the payload is no push message.
    public init(
        forTesting payload: RawPayload, id: UInt64 = 1,
        arrivedAt: MonotonicInstant = MonotonicInstant(nanoseconds: 0), app: String? = nil, routes: [String] = []
    ) throws(DecodeError) {
        self.init(try PushMessage(payload), id: id, arrivedAt: arrivedAt, app: app, routeIDs: routes)
    }
}

extension Outcome {
    /// Makes the outcome of a message whose handler failed, for a middleware's `settle`.
    ///
    /// - Parameters:
    ///   - route: the id of the route whose handler failed.
    ///   - error: what the handler threw.
    /// - Returns: `Outcome.failed(_:)`, with no route that has handled the message.
    public static func failed(at route: String, _ error: any Error) -> Outcome { .failure(of: route, error) }
}
