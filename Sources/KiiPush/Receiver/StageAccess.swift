// Access to single steps, for the benchmarks only; see Tests/Benchmarks.

@_spi(Benchmarks)
extension PushMessage {
    /// Classifies the message again, from its decoded fields, and returns its kind.
    public func classifiedAgain() -> PushKind {
        let buffer = storage.buffer
        var classified = Classified()
        classified.read(buffer.span, storage.fields, storage.dialect)
        return classified.kind
    }
}

@_spi(Benchmarks)
extension PushReceiver {
    /// Looks up the routes that match a message, as `receive` does.
    public func routes(for message: PushMessage) -> MatchedRoutes { currentSetup().table.match(message.storage).routes }
}

@_spi(Benchmarks)
extension RoutedMessage {
    /// A message that no route matches, to be sent through one middleware.
    public init(_ message: PushMessage, arrivedAt: MonotonicInstant, app: String?) {
        self.init(message, id: 0, arrivedAt: arrivedAt, app: app, match: RouteMatch())
    }
}
