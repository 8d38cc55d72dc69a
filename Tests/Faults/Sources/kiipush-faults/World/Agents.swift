/// Which program receives.
enum Program {
    /// This one, in its agent's role: the library's types, with deaths planted in it.
    case own
    /// `kiipush receive`, at a path.
    case tool(String)

    /// The command that starts it.
    ///
    /// - Parameters:
    ///   - session: whose broker, topic and files it uses.
    ///   - faults: what is planted in this program's own agent.
    /// - Returns: the program's path, and what it is told.
    /// - Throws: when its rules cannot be written.
    func command(_ session: Session, _ faults: [String]) throws -> [String] {
        let address = "mqtt://127.0.0.1:\(session.broker.port)/\(session.topic)"
        switch self {
        case .own:
            return [
                "/proc/self/exe", "agent", "--port", "\(session.broker.port)", "--topic", session.topic,
                "--state", session.state, "--book", session.book.path, "--concurrency", "\(session.concurrency)",
            ] + faults
        case .tool(let path):
            let rules = "\(session.folder.path)/rules.json"
            try write(Self.rules.utf8, to: rules)
            return [
                path, "receive", "--rules", rules, "--state", session.state, "--mqtt", address,
                "--client-id", session.topic, "--concurrency", "\(session.concurrency)",
            ] + faults
        }
    }

    /// Prints each message, and has no breaker for so many.
    private static let rules = """
        {"version": 1, "loop": {"rate": {"messages": 1000000, "per": "10s"}},
         "rules": [{"id": "book", "when": {"kind": "pushToApp"}, "then": {"print": true}}]}
        """
}
