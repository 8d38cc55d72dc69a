import Testing

@testable import KiiPushAgent
@testable import kiipush

@Suite("the command lines of kiipush dead-letters")
struct StateOptionsTests {
    @Test("a state directory that is not there is not made")
    func noDirectory() async {
        let run = await ToolRun("dead-letters", "list", "--state", "/nowhere/at/all")
        #expect(run.code == .failed)
        #expect(run.errors == ["kiipush dead-letters: there is no state directory /nowhere/at/all"])
    }
}
