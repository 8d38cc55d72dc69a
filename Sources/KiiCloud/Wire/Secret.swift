/// A text that must not be seen: a token, a key, a password.
///
/// Neither printing nor dumping it, nor anything that holds it, shows the text. Only ``revealed`` does: pass that to a
/// transport or a client, and to nothing that logs. It lies in memory as it is, so a core file has it.
public struct Secret: Sendable, Hashable {
    private let text: String

    /// Keeps a text.
    public init(_ text: String) { self.text = text }

    /// The text itself.
    public var revealed: String { text }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A word that says nothing of the text.
    public var description: String { "(secret)" }

    /// A word that says nothing of the text.
    public var debugDescription: String { description }

    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
