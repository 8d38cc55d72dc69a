/// An agent cannot be made or run, and why.
public struct AgentError: Error, CustomStringConvertible {
    /// What is wrong, and what to do.
    public let description: String

    package init(_ description: String) { self.description = description }
}
