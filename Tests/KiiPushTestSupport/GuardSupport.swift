import KiiPushTesting

@testable import KiiPush

extension LoopGuard {
    /// What the guard says about a payload: `pass`, `later`, or the layer that ends it.
    func judge(
        _ payload: RawPayload, at now: MonotonicInstant = .seconds(0), app: String? = nil,
        routes: [Route] = [Route("r")]
    ) throws -> String {
        var payload = payload
        payload.arrivedAt = now
        var message = try RoutedMessage(payload, app: app, routes: routes)
        let verdict = admit(&message)
        if case .drop(.looped(let layer)) = verdict { return layer.rawValue }
        return "\(verdict)"
    }
}

extension ResourceKey {
    /// The key of an object of a test.
    init(_ number: Int) {
        self.init(KiiObject(bucket: KiiBucket(scope: .app, name: "settings"), id: String(number)), .published)
    }
}
