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
    public init(
        layers: Set<LoopLayer> = Set(LoopLayer.allCases), hops: Int = 8, echo: Duration = .seconds(60)
    ) {
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

/// How the loop guard treats one route, if not by the guard's settings.
public struct RouteLoopPolicy: Sendable, Hashable {
    /// What happens when a handler declares a write that would call its own route.
    @nonexhaustive
    public enum OwnBucket: String, Sendable, Hashable, CaseIterable {
        /// It is reported to ``LoopGuard/onRisk(_:)``, and the write continues.
        case warn
        /// It is reported, and the declaration throws ``LoopRefusal``; the message ends as `looped` (`ownBucket`).
        case refuse
        /// The write continues, for a handler that is known to terminate.
        case allow
    }

    /// What happens when a handler declares a write that would call its own route.
    public var ownBucket: OwnBucket

    /// Reports such writes.
    public static let standard = RouteLoopPolicy()

    /// Sets the policy.
    public init(ownBucket: OwnBucket = .warn) { self.ownBucket = ownBucket }
}
