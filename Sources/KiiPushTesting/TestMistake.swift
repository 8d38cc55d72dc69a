/// A test uses these tools in a way that cannot work, and so fails; the description says what to change.
public struct TestMistake: Error, Sendable, CustomStringConvertible {
    /// What is wrong, and what to do.
    public let description: String
}
