/// An agent could not be set up.
struct AgentError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
