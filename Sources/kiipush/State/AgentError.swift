/// An agent could not be put together.
struct AgentError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
