/// Refuses messages that are not for this receiver: those of another app, or of a scope that it does not serve.
///
/// A device whose installation was used by another user before, or by another app in a test, still receives their
/// pushes; handling them would mix two users' data. Put it last in the chain. It does not route messages; see
/// ``PushReceiver``.
public struct ScopeFilter: Middleware {
    private let serving: ScopePattern?

    /// Makes a filter of the scopes that are served; nil serves all.
    ///
    /// A payload whose scope is incomplete, unknown or not listed is refused; a payload that states no scope passes.
    public init(serving: ScopePattern? = nil) { self.serving = serving }

    /// Refuses a payload of another app, or of a scope that is not served.
    public func admit(_ message: inout RoutedMessage) -> Verdict {
        let storage = message.message.storage
        let buffer = storage.buffer
        return refusal(of: storage, buffer.span, app: message.app).map { .drop(.refused($0)) } ?? .pass
    }

    /// Why a message is not for this receiver; nil if it is.
    func refusal(of storage: MessageStorage, _ text: Span<UInt8>, app: String?) -> Refusal? {
        if let app, storage.classified.app.isPresent, !text.matches(storage.classified.app.range, app) { return .app }
        guard let serving, storage.classified.scopeKind != .unknown || storage.fields[.scopeType].isPresent else {
            return nil
        }
        return storage.classified.scopeIsComplete && serving.matches(text, storage.classified) ? nil : .scope
    }
}
