import Testing

@testable import KiiPushAgent
@testable import kiipush

@Suite("the command lines of kiipush dead-letters")
struct StateOptionsTests {
    @Test(
        "a wrong command line is told in one line that says what to do",
        arguments: [
            (
                ["dead-letters", "lsit"],
                "dead-letters: unknown command 'lsit'; did you mean 'list'?"
            ),
            (
                ["dead-letters", "drop"],
                "dead-letters drop: say which: numbers, --route, --reason, or --all; try 'kiipush dead-letters drop --help'"
            ),
            (
                ["dead-letters", "replay", "--dry-run"],
                "dead-letters replay: say which: numbers, --route, --reason, or --all; try 'kiipush dead-letters replay --help'"
            ),
            (
                ["dead-letters", "show"],
                "dead-letters show: name them by number, as 'list' shows; try 'kiipush dead-letters show --help'"
            ),
            (
                ["dead-letters", "drop", "x"],
                "dead-letters drop: 'x' is not a message number; 'list' shows them; try 'kiipush dead-letters drop "
                    + "--help'"
            ),
            (
                ["dead-letters", "replay", "1", "--rate", "0"],
                "dead-letters replay: --rate takes a number from 1 to 10000, not '0'; try 'kiipush dead-letters replay --help'"
            ),
            (
                ["dead-letters", "list", "--reason", "tired"],
                "dead-letters list: --reason takes one of heldFull, killSwitch, backlogFull, failed, quarantined, undecodable, not 'tired'; try 'kiipush dead-letters list --help'"
            ),
            (
                ["dead-letters", "list", "--all"],
                "dead-letters list: unknown option --all; try 'kiipush dead-letters list --help'"
            ),
        ])
    func mistakes(arguments: [String], what: String) async {
        let run = await ToolRun(arguments + ["--state", "/nowhere"])
        #expect(run.code == .usage)
        #expect(run.errors == ["kiipush \(what)"])
    }

    @Test("a state directory that is not there is not made", arguments: ["dead-letters"])
    func noDirectory(command: String) async {
        let run = await ToolRun([command, "list", "--state", "/nowhere/at/all"])
        #expect(run.code == .failed)
        #expect(run.errors == ["kiipush dead-letters: there is no state directory /nowhere/at/all"])
    }
}
