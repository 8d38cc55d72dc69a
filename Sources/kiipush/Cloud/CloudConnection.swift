import KiiCloud
import KiiPushAgent

#if HTTP
import KiiCloudHTTP
#endif

enum CloudConnection {
    static var isBuilt: Bool {
        #if HTTP
        true
        #else
        false
        #endif
    }

    static let missing =
        "this kiipush has no HTTP client; build it with the trait HTTP (Debian's libcurl4-openssl-dev): "
        + "swift build --traits HTTP"

    struct Open: Sendable {
        let client: KiiClient
        let close: @Sendable () async -> Void

        #if HTTP
        /// Connects with an account; its tokens may come from a separate source.
        init(_ account: CloudAccount, tokens: (any TokenSource)? = nil) throws {
            var settings = CurlSettings()
            settings.usesPlainLoopback = account.isPlain
            let transport = try CurlTransport(settings)
            client = KiiClient(account.app, transport: transport, tokens: tokens ?? FixedToken(account.token))
            close = { await transport.close() }
        }
        #endif
    }

    /// Calls with the account of a file, and reports errors; `uriApp` is the app that the command's URI names, if any.
    static func run(
        _ name: String, account path: String, _ console: Console, names uriApp: String? = nil,
        _ work: (KiiClient) async throws -> ExitCode
    ) async -> ExitCode {
        #if HTTP
        do {
            let account = try CloudAccount(path)
            if let uriApp, uriApp != account.app.id {
                throw AgentError("the URI and the account name different apps")
            }
            let connection = try Open(account)
            let code = try await work(connection.client)
            await connection.close()
            return code
        } catch { return console.fail("kiipush \(name): \(escaped("\(error)"))") }
        #else
        return console.fail("kiipush \(name): \(missing)")
        #endif
    }
}
