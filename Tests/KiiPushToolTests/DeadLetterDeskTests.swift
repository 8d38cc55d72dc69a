import KiiPush
import KiiPushDelivery
import KiiPushSystem
import KiiPushTesting
import Synchronization
import Testing

@testable import kiipush
@testable import KiiPushAgent
@testable import KiiPushTestSupport

@Suite("kiipush dead-letters replay", .timeLimit(.minutes(5)))
struct DeadLetterReplayTests {
    @Test("a letter that an agent with smaller limits could not decode is handled by one that can, and is gone")
    func undecodable() async throws {
        let letters = InMemoryDeadLetterStore()
        let payload = PayloadFixture.pushToUser(topic: "news").payload(.long)
        for bytes in [payload.bytes, Array("nonsense".utf8)] {
            let payload = RawPayload(bytes, transport: .mqtt)
            _ = try letters.add(
                DeadLetter(payload: payload, reason: .undecodable, routes: [], arrivedAt: .seconds(0)))
        }
        let (run, receiver) = try await serving(letters) { session in
            await ToolRun { await DeadLetterDesk.run(["replay", "--reason", "undecodable"], session, $0.desk) }
        }
        #expect(run.code == .failed, "one of them is garbage still")
        #expect(run.output == ["1: handled", "2: undecodable (unexpectedCharacter)"])
        #expect(run.errors == [] && letters.letters().map(\.id) == [2])
        #expect(receiver.metrics.routes.map(\.handled) == [1])
    }

    @Test("a replay ends when nobody waits for it any more, and says of a letter that was dropped that it did not run")
    func unheard() async throws {
        let letters = InMemoryDeadLetterStore()
        let payload = PayloadFixture.pushToUser(topic: "news").payload(.long)
        for _ in 1...3 {
            _ = try letters.add(
                DeadLetter(payload: payload, reason: .failed, routes: ["news"], arrivedAt: .seconds(0)))
        }
        let lines = Mutex<[String]>([])
        let console = DeskConsole(
            print: { line in
                lines.withLock { $0.append(line) }
                letters.remove(2)
            }, error: { _ in }, isHeard: { lines.withLock { $0.count } < 2 })
        let (code, receiver) = try await serving(letters) { session in
            await DeadLetterDesk.run(["replay", "--all"], session, console)
        }
        #expect(code == .failed && letters.letters().map(\.id) == [3])
        #expect(lines.withLock { $0 } == ["1: handled", "2: not replayed: it was handled or dropped meanwhile"])
        #expect(receiver.metrics.routes.map(\.handled) == [1])
    }

    /// Runs a command on the dead letters of a service that runs, whose one route takes news.
    private func serving<Answer>(
        _ letters: InMemoryDeadLetterStore, _ command: (StateSession) async -> Answer
    ) async throws -> (Answer, PushReceiver) {
        let receiver = PushReceiver(deadLetters: letters)
        receiver.onPushToUser(id: "news", topic: "news") { _, _ in }
        let transport = HandTransport()
        let service = PushService(receiver, [transport])
        let running = Task { try await service.run() }
        _ = await transport.intake()
        let answer = await command(StateSession(deadLetters: letters, service: service))
        running.cancel()
        _ = try await running.value
        return (answer, receiver)
    }
}

@Suite("commands on dead letters that do nothing say so")
struct NothingDoneTests {
    private func run(_ arguments: [String], _ session: StateSession) async -> ToolRun {
        await ToolRun { await DeadLetterDesk.run(arguments, session, $0.desk) }
    }

    private func session(letters: Int) async throws -> StateSession {
        let store = InMemoryDeadLetterStore()
        let session = StateSession(deadLetters: store)
        for number in 0..<letters {
            let payload = RawPayload(Array("{\(number)".utf8), transport: .mqtt)
            _ = try store.add(
                DeadLetter(payload: payload, reason: .failed, routes: ["settings"], arrivedAt: .seconds(0)))
        }
        return session
    }

    @Test(
        "a filter that matches no letter is reported, with the route that was probably meant",
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

    @Test(
        "a list that a filter leaves empty says that there are others", arguments: ["list", "show"], ["text", "json"])
    func emptyList(command: String, format: String) async throws {
        let run = await run(
            [command, "--route", "setings", "--format", format], try await session(letters: 2))
        #expect(run.code == .fine && run.output.isEmpty)
        let error =
            "kiipush dead-letters: none of 2 dead letters matches; unknown route 'setings'; did you mean 'settings'?"
        #expect(run.errors == [error], "\(run.errors)")
    }

    @Test("dropping all of no dead letters succeeds and says so")
    func none() async throws {
        let run = await run(["drop", "--all"], try await session(letters: 0))
        #expect(run.code == .fine && run.errors.isEmpty && run.output == ["no dead letters, so nothing dropped"])
    }

    @Test("no state is made where no agent has run", arguments: ["none", "folder"])
    func noState(name: String) async throws {
        let folder = try Folder()
        try folder.makeFolder("folder")
        try KillFile(directory: folder["folder"]).kill(.everything, until: .now)
        let run = await ToolRun("dead-letters", "list", "--state", folder[name])
        #expect(run.code == .failed)
        let what = "there is no state of an agent in \(folder[name]); --state names another directory"
        #expect(run.errors == ["kiipush dead-letters: \(what)"])
        #expect(folder.names == ["folder"] && entries(ofDirectory: folder["folder"])?.count == 2)
    }
}
