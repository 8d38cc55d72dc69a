import Glibc
import KiiPushContracts
import Synchronization
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport

@Suite("The socket of an agent's commands", .timeLimit(.minutes(5)))
struct ControlSocketTests {
    /// Runs a body while `serve` serves a socket, from the moment at which clients can connect; then that ends.
    private func serving(
        in name: String? = nil,
        _ serve: @escaping @Sendable (ControlSocket, _ listening: @escaping @Sendable () -> Void) async throws -> Void,
        _ body: (ControlSocket, Folder) async throws -> Void
    ) async throws {
        let folder = try Folder()
        if let name { try folder.makeFolder(name) }
        let control = ControlSocket(state: name.map { folder[$0] } ?? folder.path)
        let (ready, listen) = AsyncStream.makeStream(of: Void.self)
        let serving = Task { try await serve(control) { listen.finish() } }
        for await _ in ready {}
        try await body(control, folder)
        serving.cancel()
        try await serving.value
        #expect(folder.names == [name].compactMap(\.self))
    }

    @Test("a directory may have a longer path than a socket")
    func longPath() async throws {
        try await serving(in: String(repeating: "d", count: 200)) { control, listening in
            try await control.serve(listening: listening) { _, reply in
                reply.print("here")
                return 0
            }
        } _: { control, _ in
            let answer = try await control.firstLine(of: ["who"])
            #expect(answer.line == "here")
        }
        let missing = ControlSocket(state: "/nowhere/\(String(repeating: "d", count: 200))")
        await #expect(throws: SocketError.nobodyAnswers(path: missing.path, ErrorNumber(rawValue: ENOENT))) {
            try await missing.firstLine(of: ["who"])
        }
    }

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

    @Test("a client of a process that accepts nobody waits only as long as it may, also for a place in the queue")
    func hanging() async throws {
        let folder = try Folder()
        let control = ControlSocket(state: folder.path)
        let address = try #require(UnixAddress(path: control.path))
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        #expect(unsafe address.withPointer { unsafe bind(listener, $0, $1) } == 0 && listen(listener, 0) == 0)
        for _ in 0..<3 {
            await #expect(throws: SocketError.self) { try await control.firstLine(of: ["who"], patience: .zero) }
        }
    }

    @Test("silent clients that take all places make way for a command, however long they may be silent")
    func crowd() async throws {
        try await serving { control, listening in
            try await control.serve(patience: .seconds(3600), listening: listening) { _, _ in 7 }
        } _: { control, _ in
            let silent = try (0..<8).map { _ in try SocketPeer(control.path) }
            #expect(try await control.firstLine(of: ["status"], patience: .seconds(60)).code == 7)
            withExtendedLifetime(silent) {}
        }
    }

    @Test("it listens again when somebody has removed the socket")
    func removed() async throws {
        try await serving { control, listening in
            try await control.serve(lookEvery: .milliseconds(1), listening: listening) { _, _ in 7 }
        } _: { control, folder in
            try folder.remove("control.sock")
            #expect(await comes { folder.names == ["control.sock"] })
            #expect(try await control.firstLine(of: ["status"]).code == 7)
        }
    }

    @Test(
        "without permission it is unknown whether an agent runs, and the command says who may ask",
        arguments: [(EACCES, true), (EPERM, true), (ECONNREFUSED, false), (ENOENT, false)])
    func unknown(number: Int32, isUnknown: Bool) throws {
        let folder = try Folder()
        let text = "/s: \(ErrorNumber(rawValue: number)); run this as the user of the agent, or as root"
        let silence = AgentState.silence(
            of: folder.path, SocketError.nobodyAnswers(path: "/s", ErrorNumber(rawValue: number)))
        #expect(silence == (isUnknown ? .unknown(text) : .nobody))
        let lock = try FileLock(folder.path + "/agent.lock", limit: .zero)
        defer { lock.unlock() }
        let reason = SocketError.badPath("")
        #expect(AgentState.silence(of: folder.path, reason) == .silent("\(reason)"))
    }

    @Test("a command that no agent would take is not sent, and says what is too long and how much is allowed")
    func tooLong() async throws {
        let longest = [String](repeating: "1", count: 2048)
        #expect(ControlMessage.read(ControlMessage.command(longest)) == .whole(longest))
        // Nobody listens.
        let control = ControlSocket(path: "/nowhere/control.sock")
        for (words, size) in [
            (longest + ["1"], "2049 words of 6152 bytes"),
            (["dead-letters", String(repeating: "x", count: 65_536)], "2 words of 65559 bytes"),
        ] {
            let (code, line) = try await control.firstLine(of: words)
            #expect(code == 64)
            #expect(
                line == "kiipush \(words[0]): a running agent takes at most 2048 words and 65536 bytes in one command, "
                    + "and these are \(size); split it into several")
        }
    }

    @Test("control characters of an answer are passed on as escapes, and all others unchanged")
    func controlCharacters() async throws {
        let sent = ["\u{1B}]0;title\u{7}\u{9B}31m", "{\"text\":\"\u{202E}\\ é\"}", "a\tb\rc"]
        let heard = EventLog()
        try await serving { control, listening in
            try await control.serve(listening: listening) { _, reply in
                for line in sent { reply.print(line) }
                reply.error(sent[0])
                return 7
            }
        } _: { control, _ in
            let code = try await control.ask(["tap"], print: { heard.add($0) }, error: { heard.add($0) })
            #expect(code == 7)
        }
        let escapes = #"\u{1B}]0;title\u{7}\u{9B}31m"#
        #expect(heard.events == [escapes, sent[1], #"a\tb\rc"#, escapes])
    }

    @Test("a client that leaves too much of its answer unread is disconnected, and that is reported once")
    func unread() async throws {
        let told = EventLog()
        let (performed, perform) = AsyncStream.makeStream(of: Bool.self)
        try await serving { control, listening in
            try await control.serve(mostUnread: 2 << 20, listening: listening, dropped: { told.add($0) }) {
                arguments, reply in
                guard arguments == ["show"] else { return 7 }
                // The system buffers less than a MiB.
                let line = String(repeating: "x", count: 65_535)
                for _ in 0..<64 { reply.print(line) }
                perform.yield(reply.isHeard)
                return 0
            }
        } _: { control, _ in
            let gate = ThreadSemaphore()
            let rest: @Sendable (String) -> Void = { _ in
                while !gate.wait(for: .seconds(20)) {}
                gate.raise()
            }
            let answer = Task { try await control.ask(["show"], print: rest, error: rest) }
            #expect(await performed.first { _ in true } == false)
            let code = try await control.firstLine(of: ["status"]).code
            #expect(code == 7)
            gate.raise()
            let cut = SocketError.nobodyAnswers(path: control.path, SocketError.brokenOff)
            await #expect(throws: cut) { try await answer.value }
            let why = "a command's answer was cut off: all unread answers have at most 2097152 bytes together"
            #expect(told.events == [why])
        }
    }

    @Test("a slow reader delays no other command and gets its whole answer")
    func resting() async throws {
        // More than the system buffers.
        let lines = (0..<64).map { "\($0) " + String(repeating: "x", count: 65_536) }
        let (performed, perform) = AsyncStream.makeStream(of: Void.self)
        try await serving { control, listening in
            try await control.serve(listening: listening) { _, reply in
                for line in lines { reply.print(line) }
                perform.finish()
                return 7
            }
        } _: { control, _ in
            let gate = ThreadSemaphore()
            let heard = EventLog()
            let hear: @Sendable (String) -> Void = { line in
                while !gate.wait(for: .seconds(20)) {}
                gate.raise()
                heard.add(line)
            }
            let answer = Task { try await control.ask(["show"], print: hear, error: hear) }
            for await _ in performed {}
            #expect(heard.events.isEmpty)
            gate.raise()
            let code = try await answer.value
            #expect(code == 7 && heard.events == lines)
        }
    }
}
