/// Refuses what is not for this receiver: another app's payload, or a scope that it does not serve.
///
/// A device whose installation was used by another user before, or by another app in a test, still gets their pushes;
/// handling them would mix two users' data. Put it last in the chain. The routes of what it lets through are the
/// receiver's: see ``PushReceiver``.
public struct ScopeFilter: Middleware {
    private let serving: ScopePattern?

    /// Makes a router.
    ///
    /// - Parameter serving: the scopes that are served; nil serves all. A scope that a payload states and that is
    ///   incomplete, unknown or not listed is refused; a payload that states none passes.
    public init(serving: ScopePattern? = nil) { self.serving = serving }

    /// Refuses a payload of another app than the receiver's, then one of a scope that is not served.
    public func admit(_ message: inout RoutedMessage) -> Verdict {
        refusal(of: message.message.storage, app: message.app).map { .drop(.refused($0)) } ?? .pass
    }

    private func refusal(of storage: MessageStorage, app: String?) -> Refusal? {
        let buffer = storage.buffer
        let text = buffer.span
        if let app, storage.classified.app.isPresent, !text.matches(storage.classified.app.range, app) { return .app }
        guard let serving, storage.classified.scopeKind != .unknown || storage.fields[.scopeType].isPresent else {
            return nil
        }
        return storage.classified.scopeIsComplete && serving.matches(text, storage.classified) ? nil : .scope
    }
}
