public import KiiPush

extension RoutedMessage {
    /// Makes a message inside a chain, to test a middleware alone, without a receiver.
    ///
    /// ```swift
    /// var first = try RoutedMessage(forTesting: .pushToUser(sender: "chatty"), id: 1)
    /// #expect(quota.admit(&first) == .pass)
    /// quota.settle(first, .failed(at: "news", Unreachable()))
    /// ```
    ///
    /// - Parameters:
    ///   - fixture: the payload.
    ///   - style: the key style.
    ///   - id: the message's number; unique for each message, as in a receiver.
    ///   - arrivedAt: when it arrived.
    ///   - app: the app that the receiver serves.
    ///   - routes: the ids of the matching routes, in order of declaration.
    /// - Throws: `DecodeError` if the payload is not a push message.
    public init(
        forTesting fixture: PayloadFixture, as style: PayloadFixture.KeyStyle = .long, id: UInt64 = 1,
        arrivedAt: MonotonicInstant = MonotonicInstant(nanoseconds: 0), app: String? = nil, routes: [String] = []
    ) throws(DecodeError) {
        self.init(try PushMessage(fixture.payload(style)), id: id, arrivedAt: arrivedAt, app: app, routeIDs: routes)
    }
}

extension Outcome {
    /// Makes the outcome of a message whose handler failed, for a middleware's `settle`.
    ///
    /// - Parameters:
    ///   - route: the id of the route whose handler failed.
    ///   - error: the error that the handler threw.
    /// - Returns: `Outcome.failed(_:)`, in which no route has handled the message.
    public static func failed(at route: String, _ error: any Error) -> Outcome { .failure(of: route, error) }
}
