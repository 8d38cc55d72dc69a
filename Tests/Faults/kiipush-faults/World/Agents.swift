import Glibc

/// Where this program is; its own file also when another lies in its place by now.
let ownPath: String = {
    var path = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &path, path.count)
    let text = String(decoding: path.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return access(text, X_OK) == 0 ? text : "/proc/self/exe"
}()

/// Which program receives.
enum Program {
    /// This one, in its agent's role: the library's types, with deaths planted in it.
    case own
    /// This one, as a program that embeds an agent, with nothing planted in its stores.
    case embedded
    /// `kiipush receive`, at a path.
    case tool(String)

    /// What a report calls it.
    var name: String {
        switch self {
        case .own: "own agent"
        case .embedded: "embedded agent"
        case .tool: "kiipush receive"
        }
    }

    /// The command that starts it.
    ///
    /// - Parameters:
    ///   - session: whose broker, topic and files it uses.
    ///   - faults: what is planted in this program's own agent.
    /// - Returns: the program's path, and what it is told.
    /// - Throws: when its rules cannot be written.
    func command(_ session: Session, _ faults: [String]) throws -> [String] {
        let port = session.broker.securePort ?? session.port
        let scheme = session.security.map { _ in "mqtts://\(Security.user)@localhost" } ?? "mqtt://127.0.0.1"
        let address = "\(scheme):\(port)/\(session.topic)"
        switch self {
        case .own, .embedded:
            let role = if case .own = self { "agent" } else { "embedded" }
            return [
                ownPath, role, "--port", "\(session.port)", "--topic", session.topic,
                "--state", session.state, "--book", session.book.path, "--concurrency", "\(session.concurrency)",
            ] + faults
        case .tool(let path):
            let rules = "\(session.folder.path)/rules.json"
            try write((session.rules ?? Self.rules).utf8, to: rules)
            let source = session.source ?? ["--mqtt", address, "--client-id", session.topic]
            var command = [path, "receive", "--rules", rules, "--state", session.state]
            command += ["--concurrency", "\(session.concurrency)"] + source
            return command + (session.security?.options ?? []) + faults
        }
    }

    /// Prints each message, and none has to wait for its pace.
    private static let rules = """
        {"version": 1, "rules": [{"id": "book", "pace": "unlimited", "when": {"kind": "pushToApp"}, "then": {"print": true}}]}
        """
}
