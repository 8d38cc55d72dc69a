/// An agent could not be set up.
package struct AgentError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
