import Testing

@testable import KiiPush

struct VerdictTests {
    @Test(
        "each refusal has a one-word reason or the author's own",
        arguments: [
            (Refusal.app, "app"), (.scope, "scope"), (.other("quiet hours"), "quiet hours"),
        ])
    func reasons(refusal: Refusal, reason: String) { #expect(refusal.reason == reason) }

    @Test("a custom refusal is a drop with its reason")
    func refuse() {
        #expect(Verdict.refuse("quiet hours") == .drop(.refused(.other("quiet hours"))))
        #expect(Verdict.refuse("quiet hours") != .refuse("other"))
        #expect(Verdict.refuse("app") != .drop(.refused(.app)))
    }

    @Test("a verdict prints as a trace shows it")
    func descriptions() {
        let table: [(Verdict, String)] = [
            (.pass, "pass"),
            (.drop(.duplicate), "drop: duplicate (done)"),
            (.drop(.duplicateInFlight), "drop: duplicate (inFlight)"),
            (.drop(.looped(.identity)), "drop: looped (identity)"),
            (.drop(.looped(.killSwitch)), "drop: looped (killSwitch)"),
            (.drop(.refused(.scope)), "drop: refused (scope)"),
            (.refuse("quiet hours"), "drop: refused (quiet hours)"),
        ]
        for (verdict, text) in table { #expect(verdict.description == text) }
    }
}
