import Synchronization
import Testing

@testable import KiiPushAgent
@testable import KiiPushTestSupport

@Suite("The socket of an agent's commands", .timeLimit(.minutes(5)))
struct ControlSocketTests {
    @Test("it ends when the answers under way have been sent")
    func ends() async throws {
        let folder = try Folder()
        let control = ControlSocket(state: folder.path)
        let events = Mutex<[String]>([])
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (ready, listen) = AsyncStream.makeStream(of: Void.self)
        let serving = Task {
            try await control.serve(farewell: .seconds(60), listening: { listen.finish() }) { _, reply in
                begin.finish()
                for await _ in gate {}
                reply.print("late")
                events.withLock { $0.append("answered") }
                return 7
            }
            events.withLock { $0.append("ended") }
        }
        for await _ in ready {}
        let lines = Mutex<[String]>([])
        let hear: @Sendable (String) -> Void = { line in lines.withLock { $0.append(line) } }
        async let answer = control.ask(["status"], print: hear, error: hear)
        for await _ in begun {}
        serving.cancel()
        for _ in 0..<50 { await Task.yield() }
        open.finish()
        #expect(try await answer == 7)
        #expect(lines.withLock { $0 } == ["late"])
        try await serving.value
        #expect(events.withLock { $0 } == ["answered", "ended"])
    }
}
