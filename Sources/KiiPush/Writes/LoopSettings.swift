/// The layers of a ``LoopGuard``, and their limits.
///
/// Give a route whose messages must never wait another pace in ``RouteOptions/pace``.
public struct LoopSettings: Sendable, Hashable {
    /// The layers that are on.
    public var layers: Set<LoopLayer>
    /// How many handlers a message or an object may have passed through, one after another; beyond that it is dropped.
    public var hops: Int
    /// How long an expected write waits for its event, at most; ``OwnWrite`` says what else ends the wait.
    public var echo: Duration
    /// 8 hops, 60 seconds of echo, all layers on.
    public static let standard = LoopSettings()

    /// Sets the numbers.
    public init(layers: Set<LoopLayer> = Set(LoopLayer.allCases), hops: Int = 8, echo: Duration = .seconds(60)) {
        self.layers = layers
        self.hops = hops
        self.echo = echo
    }

    /// The same with one layer off.
    public func without(_ layer: LoopLayer) -> LoopSettings {
        var settings = self
        settings.layers.remove(layer)
        return settings
    }
}
