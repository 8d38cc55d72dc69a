import Synchronization

extension ControlSocket {
    package init(state directory: String) { self.init(path: "\(directory)/control.sock") }

    /// Sends a command that is answered in one line; returns the first one of output or error output, empty without
    /// any.
    ///
    /// - Throws: why there is no answer, at the latest after ``patience``.
    package func firstLine(of arguments: [String]) async throws -> (code: Int32, line: String) {
        let heard = Mutex<String?>(nil)
        let hear: @Sendable (String) -> Void = { line in heard.withLock { $0 = $0 ?? line } }
        let code = try await ask(arguments, patience: Self.patience, print: hear, error: hear)
        return (code, heard.withLock { $0 } ?? "")
    }
}
