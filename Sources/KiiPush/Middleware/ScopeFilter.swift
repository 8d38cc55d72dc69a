/// Refuses messages that are not for this receiver: those of another app, or of a scope that it does not serve.
///
/// A device whose installation was used by another user before, or by another app in a test, still receives their
/// pushes; handling them would mix two users' data. Put it last in the chain.
public struct ScopeFilter: Middleware {
    private let serving: ScopePattern?

    /// Makes a filter of the scopes that are served; nil serves all.
    ///
    /// A payload whose scope is incomplete, unknown or not listed is refused; a payload that states no scope passes.
    public init(serving: ScopePattern? = nil) { self.serving = serving }

    /// Refuses a payload of another app, or of a scope that is not served.
    public func admit(_ message: inout RoutedMessage) -> Verdict {
        guard message.isOfApp else { return .drop(.refused(.app)) }
        guard let serving, !serving.serves(message.message.storage) else { return .pass }
        return .drop(.refused(.scope))
    }
}

extension ScopePattern {
    // Takes the storage, whose buffer need not be counted then.
    fileprivate func serves(_ storage: MessageStorage) -> Bool {
        guard storage.classified.scopeKind != .unknown || storage.fields[.scopeType].isPresent else { return true }
        let buffer = storage.buffer
        return storage.classified.scopeIsComplete && matches(buffer.span, storage)
    }
}
