#if !HTTP
import Testing

@testable import kiipush

@Suite("an agent without the trait HTTP, whose rules call Kii's cloud")
struct CloudlessAgentTests {
    @Test("it does not start, and says where the rule is and what to build")
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
}
#endif
