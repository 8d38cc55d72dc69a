import KiiPush

/// Answers commands that are sent to an agent.
struct AgentCommands: Sendable {
    let control: ControlSocket
    let session: StateSession
    let taps: TapBoard
    /// The served app; nil if unknown.
    let app: String?
    let log: AgentLog

    /// Serves commands on the control socket until its task is cancelled.
    ///
    /// If the socket cannot be created, it retries every five seconds, and reports that once. `tried` is called when
    /// the socket listens, and when it cannot be created.
    func run(_ tried: @escaping @Sendable () -> Void) async {
        var isTold = false
        defer { tried() }
        while !Task.isCancelled {
            do { return try await serve(tried) } catch {
                tried()
                if !isTold { log.trouble("the control socket is unavailable, retrying: \(error)") }
                isTold = true
            }
            try? await Task.sleep(for: .seconds(5))
        }
    }

    private func serve(_ listening: @escaping @Sendable () -> Void) async throws {
        try await control.serve(shortages: log.shortages, listening: listening) { arguments, reply in
            let rest = Array(arguments.dropFirst())
            if arguments.first == "tap" {
                let routes = session.receiver?.routes.map(\.id) ?? []
                return await taps.serve(rest, app: app, routes: routes, reply).rawValue
            }
            let console = DeskConsole(print: { reply.print($0) }, error: { reply.error($0) })
            return await DeskCommand.run(arguments.first ?? "", rest, session, console).rawValue
        }
    }
}
