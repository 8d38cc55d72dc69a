// Ways into single stages that the benchmark times and no user needs; see Tests/Benchmarks.

@_spi(Benchmarks)
extension PushMessage {
    /// Decides the kind once more, from the fields that were found, and returns it.
    public func classifiedAgain() -> PushKind {
        let buffer = storage.buffer
        var classified = Classified()
        classified.read(buffer.span, storage.fields, storage.dialect)
        return classified.kind
    }
}

@_spi(Benchmarks)
extension PushReceiver {
    /// Looks up the routes that take a message, as `receive` does.
    public func routes(for message: PushMessage) -> MatchedRoutes { currentSetup().table.match(message.storage).routes }
}

@_spi(Benchmarks)
extension RoutedMessage {
    /// A message that no route takes, to be put through one stage.
    public init(_ message: PushMessage, arrivedAt: MonotonicInstant, app: String?) {
        self.init(message, id: 0, arrivedAt: arrivedAt, app: app, match: RouteMatch())
    }
}
