import KiiPushLinux
import Synchronization

extension ControlSocket {
    /// How long an agent may take to say who it is, or how it is doing.
    static let patience = Duration.seconds(5)

    /// Where the agent of a state directory answers commands.
    init(state directory: String) { self.init(path: "\(directory)/control.sock") }

    /// Asks what is answered in one line.
    ///
    /// - Returns: the exit code and the first line of either kind; empty where there was none.
    /// - Throws: why nobody answers, at the latest after ``patience``.
    func firstLine(of arguments: [String]) async throws -> (code: Int32, line: String) {
        let heard = Mutex<String?>(nil)
        let hear: @Sendable (String) -> Void = { line in heard.withLock { $0 = $0 ?? line } }
        let code = try await ask(arguments, patience: Self.patience, print: hear, error: hear)
        return (code, heard.withLock { $0 } ?? "")
    }
}
