/// A text that must stay hidden: a token, a key, a password.
///
/// Printing or dumping it, or a value that contains it, does not show the text. Only ``revealed`` does: pass that to a
/// transport or a client, never to a log. The text is stored in memory unencrypted, so a core file contains it.
public struct Secret: Sendable, Hashable {
    private let text: String

    /// Keeps a text.
    public init(_ text: String) { self.text = text }

    /// The text itself.
    public var revealed: String { text }
}

extension Secret: CustomStringConvertible, CustomReflectable {
    /// A placeholder for the text.
    public var description: String { "(secret)" }

    /// Nothing but the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
