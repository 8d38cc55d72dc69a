import KiiPush
import Synchronization
import Testing

@testable import kiipush
@testable import KiiPushAgent

@Suite("commands on dead letters that do nothing say so")
struct NothingDoneTests {
    private func run(_ arguments: [String], _ session: StateSession) async -> (ExitCode, [String], [String]) {
        let printed = Mutex<[String]>([])
        let reported = Mutex<[String]>([])
        let console = Console(
            print: { line in printed.withLock { $0.append(line) } },
            error: { line in reported.withLock { $0.append(line) } })
        let code = await DeadLetterDesk.run(Array(arguments.dropFirst()), session, console.desk)
        return (code, printed.withLock { $0 }, reported.withLock { $0 })
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
        let (code, output, errors) = await run(["dead-letters"] + arguments, try await session(letters: 1))
        #expect(code == .failed && output.isEmpty && errors == [error], "\(errors)")
    }

    @Test("all of none is fine, and said")
    func none() async throws {
        let (code, output, errors) = await run(["dead-letters", "drop", "--all"], try await session(letters: 0))
        #expect(code == .fine && errors.isEmpty && output == ["no dead letters, so nothing dropped"])
    }

    @Test("without an agent there is no answer to what only it could do")
    func noAgent() async throws {
        var session = try await session(letters: 1)
        session = StateSession(deadLetters: session.deadLetters, receiver: nil)
        #expect(await run(["dead-letters", "replay", "--all"], session).0 == .nobody)
    }
}
