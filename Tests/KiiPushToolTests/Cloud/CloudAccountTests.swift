import Glibc
import KiiCloud
import Testing

@testable import kiipush
@testable import KiiPushAgent
@testable import KiiPushSystem

@Suite("the account of a command that calls Kii's cloud")
struct CloudAccountTests {
    private static let fine = #"{"site":"jp","app":"a-1","key":"k-1","token":"t-1"}"#

    private func account(_ text: String, mode: mode_t = 0o600) throws -> CloudAccount {
        let file = try TemporaryFile(text, name: "account.json", mode: mode)
        return try CloudAccount(file.path)
    }

    @Test("site, app, key and token are read; printing shows no secret")
    func read() throws {
        let account = try account(Self.fine)
        #expect(account.app == KiiApp(.jp, id: "a-1", key: Secret("k-1")) && account.token == Secret("t-1"))
        #expect(!account.isPlain && !"\(account)".contains("k-1") && !"\(account)".contains("t-1"))
        let own = try self.account(#"{"site":"cloud.example:8443","app":"a","key":"k","token":"t"}"#)
        #expect(own.app.host == "cloud.example:8443" && !own.isPlain)
        let plain = try self.account(#"{"site":"http://127.0.0.1:80","app":"a","key":"k","token":"t"}"#)
        #expect(plain.app.host == "127.0.0.1:80" && plain.isPlain)
    }

    @Test(
        "what is no account is told, and nothing of it is repeated",
        arguments: [
            ("", "not an account"), ("[]", "not an account"), ("SECRET", "not an account"),
            (#"{"site":"jp","app":"a","key":"SECRET"}"#, "missing: token"),
            (#"{"site":"jp","app":"a","key":"SECRET","SECRET":1}"#, "not one of site, app, key, token"),
            (#"{"site":"jp","app":"a","key":"k","token":7}"#, "token: expected a string"),
            (#"{"site":"jp","app":"a","key":"k","token":""}"#, "token: expected a string"),
            (#"{"site":"jp","app":"a","key":"k","token":"SECRET\nX: y"}"#, "token: expected a string"),
            (#"{"site":"http://SECRET.example","app":"a","key":"k","token":"t"}"#, "http:// is for 127.0.0.1"),
            (#"{"site":"https://SECRET.example","app":"a","key":"k","token":"t"}"#, "without a scheme"),
        ])
    func wrong(text: String, what: String) throws {
        let error = try #require(throws: AgentError.self) { try account(text) }
        #expect(error.description.contains(what) && !error.description.contains("SECRET"), "\(error)")
    }

    @Test("a file that others can read is refused")
    func exposed() throws {
        let error = try #require(throws: SecretFileError.self) { try account(Self.fine, mode: 0o644) }
        #expect(error.description.contains("chmod 600"))
    }

    #if !HTTP
    @Test("without the trait each command says how to build it")
    func notBuilt() async throws {
        for arguments in [
            ["refresh", "kiicloud://users/u"], ["install", "--endpoint", "e"],
            ["unsubscribe", "kiicloud://buckets/b", "--of", "user:u"],
        ] {
            let run = await ToolRun(arguments + ["--account", "a"])
            #expect(run.code == .failed && run.output.isEmpty)
            #expect(run.errors == ["kiipush \(arguments[0]): \(CloudConnection.missing)"])
        }
    }

    @Test("without the trait an agent whose rules call Kii's cloud does not start, and says what to build")
    func refused() throws {
        let rules = try TemporaryFile(
            #"""
            {"version": 1, "me": ["thing:th.1"], "rules": [
             {"id": "tell", "then": {"send": {"topic": "kiicloud://things/th.1/topics/a", "data": {"n": 1}}}}]}
            """#, name: "r.json")
        let run = try ChildRun(["receive", "--rules", rules.path, "--stdin"])
        #expect(run.code == 1)
        #expect(run.errors.contains("r.json:2:44: the rule 'tell' calls Kii's cloud; this kiipush has no HTTP client"))
        #expect(run.errors.contains("swift build --traits HTTP, and name the account with --account FILE"))
        let account = try ChildRun(["receive", "--rules", rules.path, "--stdin", "--account", "account.json"])
        #expect(account.code == 64 && account.errors.contains("build it with the trait HTTP"))
    }
    #endif
}
