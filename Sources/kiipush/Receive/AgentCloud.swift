import KiiCloud
import KiiPush
import KiiPushRules
import KiiPushAgent
import Synchronization

struct AgentCloud: Sendable {
    /// Performs `write` and `send`; nil without an account.
    let calls: (any RuleCloud)?
    /// Answers Thing-IF commands, if the rules say which thing this device is.
    let answers: [any AnswerSender]
    let close: @Sendable () async -> Void

    init(_ options: ReceiveOptions, _ rules: RoutingRules) throws {
        guard let path = options.account else {
            (calls, answers, close) = (nil, [], {})
            return
        }
        #if HTTP
        let account = try CloudAccount(path)
        let connection = try CloudConnection.Open(account, tokens: AccountTokens(path, account.token))
        (calls, close) = (ClientRuleCloud(connection.client), connection.close)
        // A command does not say which thing it is for: it is this device's first one.
        let thing = rules.me.lazy.compactMap { if case .thing(let thing) = $0 { thing } else { nil } }.first
        answers = thing.map { [ThingCommandAnswers(connection.client, thing: $0)] } ?? []
        if let own = options.app ?? rules.app, own != account.app.id {
            throw AgentError("the account and the rules name different apps")
        }
        #else
        throw AgentError("\(escaped(path)): \(CloudConnection.missing)")
        #endif
    }

    /// What to do about rules that call the cloud without an account.
    static var advice: String {
        (CloudConnection.isBuilt ? "" : "\(CloudConnection.missing), and ") + "name the account with --account FILE"
    }
}

#if HTTP
/// The token of an account's file, which is read again when Kii refuses the token, in case it was replaced.
private final class AccountTokens: TokenSource {
    private let path: String
    private let current: Mutex<Secret>

    init(_ path: String, _ token: Secret) {
        self.path = path
        current = Mutex(token)
    }

    func token(replacing ended: Secret?) throws -> Secret {
        let token = current.withLock { $0 }
        guard ended == token else { return token }
        let read = try CloudAccount(path).token
        current.withLock { $0 = read }
        return read
    }
}
#endif
