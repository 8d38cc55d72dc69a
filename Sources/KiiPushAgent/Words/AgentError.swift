public import KiiPush

/// An agent cannot be made or run, and why.
public struct AgentError: ReportedError, CustomStringConvertible {
    /// What is wrong, and what to do.
    public let description: String

    /// The description.
    public var report: String { description }

    package init(_ description: String) { self.description = description }
}
