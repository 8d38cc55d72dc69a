import KiiPush
import Testing

@testable import kiipush
@testable import KiiPushAgent

@Suite("commands on dead letters that do nothing say so")
struct NothingDoneTests {
    private func run(_ arguments: [String], _ session: StateSession) async -> ToolRun {
        await ToolRun { await DeadLetterDesk.run(arguments, session, $0.desk) }
    }

    private func session(letters: Int) async throws -> StateSession {
        let store = InMemoryDeadLetterStore()
        let receiver = PushReceiver(deadLetters: store) {}
        let session = StateSession(deadLetters: store, receiver: receiver)
        for number in 0..<letters {
            let payload = RawPayload(Array("{\(number)".utf8), transport: .mqtt)
            _ = try store.add(
                DeadLetter(
                    payload: payload, reason: .failed, routes: ["settings"], arrivedAt: .init(nanoseconds: 0)))
        }
        return session
    }

    @Test(
        "a filter that no letter fits is told, with the route that was probably meant",
        arguments: [
            (
                ["drop", "--route", "setings"],
                "kiipush dead-letters: nothing dropped: none of 1 dead letter matches; unknown route 'setings'; did you mean 'settings'?"
            ),
            (
                ["replay", "--reason", "killSwitch"],
                "kiipush dead-letters: nothing replayed: none of 1 dead letter matches"
            ),
            (["drop", "9"], "kiipush dead-letters: there is no dead letter 9 that matches"),
        ])
    func filters(arguments: [String], error: String) async throws {
        let run = await run(arguments, try await session(letters: 1))
        #expect(run.code == .failed && run.output.isEmpty && run.errors == [error], "\(run.errors)")
    }

    @Test("all of none is fine, and said")
    func none() async throws {
        let run = await run(["drop", "--all"], try await session(letters: 0))
        #expect(run.code == .fine && run.errors.isEmpty && run.output == ["no dead letters, so nothing dropped"])
    }

    @Test("without an agent there is no answer to what only it could do")
    func noAgent() async throws {
        let letters = try await session(letters: 1).deadLetters
        #expect(
            await run(["replay", "--all"], StateSession(deadLetters: letters, receiver: nil)).code == .nobody)
    }

    @Test("a state directory that is not there is not made")
    func noDirectory() async {
        let run = await ToolRun("dead-letters", "list", "--state", "/nowhere/at/all")
        #expect(run.code == .failed)
        #expect(run.errors == ["kiipush dead-letters: there is no state directory /nowhere/at/all"])
    }
}
