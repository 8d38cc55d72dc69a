import Glibc
import KiiPushContracts
import KiiPushDelivery
import KiiPushAgent
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// A socket transport that runs beside a test.
final class RunningSocket {
    let folder: Folder
    let path: String
    let intake: TrialIntake
    let task: Task<Void, any Error>

    init(
        isDurable: Bool = false, clients: Int = 16, limit: Int = 1000, answerAfter: Duration = .seconds(3600),
        users: Set<UInt32>? = nil, idle: Duration = .seconds(30), stop: Duration = .seconds(1)
    ) async throws {
        folder = try Folder()
        path = folder["push.sock"]
        let intake = TrialIntake(isDurable: isDurable)
        let transport = SocketTransport(
            path: path, transport: .mqtt, users: users, clients: clients, limit: limit, answerAfter: answerAfter
        ).limits(idle: idle, stop: stop)
        task = Task { try await transport.run(intake.intake(for: transport.name)) }
        self.intake = intake
        #expect(await comes { intake.events.contains(.connected("listens at \(path)")) })
    }

    deinit { task.cancel() }

    func stop() async throws {
        task.cancel()
        try await task.value
    }
}

@Suite(.timeLimit(.minutes(5)))
struct SocketTransportTests {
    private let handled = #"{"outcome":"handled","disposition":"accept"}"#
    private let stored = #"{"outcome":"stored","disposition":"accept"}"#
    private let left = #"{"outcome":"left","disposition":"retryLater"}"#
    private let stopping = #"{"outcome":"notTaken","disposition":"retryLater","reason":"stopping"}"#
    private let tooLong = #"{"outcome":"undecodable","disposition":"reject","reason":"limitExceeded"}"#

    // MARK: Answers

    @Test("each payload is answered with its end")
    func ends() async throws {
        let socket = try await RunningSocket()
        let peer = try SocketPeer(socket.path)
        let failure = Outcome.Failure(
            place: "settings", isMiddleware: false, error: TestError(), handled: MatchedRoutes())
        let cases: [(outcome: Outcome?, answer: String)] = [
            (.handled(MatchedRoutes()), handled), (nil, left),
            (.duplicate(.done), #"{"outcome":"duplicate","disposition":"accept","reason":"done"}"#),
            (.failed(failure), #"{"outcome":"failed","disposition":"retryLater","reason":"settings"}"#),
            (.unrouted(.noRoute), #"{"outcome":"unrouted","disposition":"accept","reason":"noRoute"}"#),
            (
                .undecodable(DecodeError(.empty, at: 0, "nothing")),
                #"{"outcome":"undecodable","disposition":"reject","reason":"empty"}"#
            ),
            (
                .refused(.other("\"\n" + String(repeating: "x", count: 100))),
                #"{"outcome":"refused","disposition":"accept","reason":""#
            ),
        ]
        for (index, (outcome, answer)) in cases.enumerated() {
            peer.send("{\"n\":\(index)}\n")
            #expect(await comes { socket.intake.payloads.count == index + 1 })
            socket.intake.end(index, outcome)
            let found = try #require(peer.answer())
            #expect(found.hasPrefix(answer))
            #expect(found.utf8.count < 200)
        }
        #expect(socket.intake.payloads.allSatisfy { $0.transport == .mqtt })
        try await socket.stop()
    }

    @Test("answers come in the order of the payloads, whatever ends first, and one that is not stored has to end")
    func order() async throws {
        let socket = try await RunningSocket(answerAfter: .zero)
        let peer = try SocketPeer(socket.path)
        peer.send("a\n\n  \nb\nc\n")
        #expect(await comes { socket.intake.texts == ["a", "b", "c"] })
        socket.intake.end(2, .superseded)
        socket.intake.end(1, .quarantined)
        socket.intake.end(0, .handled(MatchedRoutes()))
        #expect(
            peer.answers(3) == [
                handled, #"{"outcome":"quarantined","disposition":"accept"}"#,
                #"{"outcome":"superseded","disposition":"accept"}"#,
            ])
    }

    @Test("a stored payload that has not ended in time is answered as stored, one that has with its end")
    func answerAfter() async throws {
        let socket = try await RunningSocket(isDurable: true, answerAfter: .milliseconds(20))
        let peer = try SocketPeer(socket.path)
        peer.send("a\nb\n")
        #expect(peer.answers(2) == [stored, stored])
        // Its end comes to nobody's use, and does no harm.
        socket.intake.end(0, .handled(MatchedRoutes()))
        let patient = try await RunningSocket(isDurable: true)
        let other = try SocketPeer(patient.path)
        other.send("a\n")
        #expect(await comes { patient.intake.payloads.count == 1 })
        patient.intake.end(0, .handled(MatchedRoutes()))
        #expect(other.answer() == handled)
    }

    @Test("answers a refused payload at once")
    func notTaken() async throws {
        let socket = try await RunningSocket()
        let peer = try SocketPeer(socket.path)
        socket.intake.refuse(.failed(TestError()))
        peer.send("a\nb\n")
        let failed = #"{"outcome":"notTaken","disposition":"retryLater","reason":"inboxFailed"}"#
        #expect(peer.answers(2) == [failed, failed])
        socket.intake.refuse(.stopping)
        peer.send("c\n")
        #expect(peer.answer() == stopping)
        socket.intake.refuse(nil)
        peer.send("d\n")
        #expect(await comes { socket.intake.texts == ["d"] })
    }

    @Test("answers an overlong line in order, and reports each")
    func longLines() async throws {
        let socket = try await RunningSocket(limit: 10)
        let peer = try SocketPeer(socket.path)
        let long = String(repeating: "x", count: 200_000)
        peer.send("a\n\(long)\nb\n\(long)\n")
        #expect(await comes { socket.intake.texts == ["a", "b"] })
        socket.intake.end(1, .handled(MatchedRoutes()))
        socket.intake.end(0, .handled(MatchedRoutes()))
        #expect(peer.answers(4) == [handled, tooLong, handled, tooLong])
        #expect(
            socket.intake.events.dropFirst() == [
                .possibleGap("a client's line 2 is larger than 10", cause: .notAccepted),
                .possibleGap("a client's line 4 is larger than 10", cause: .notAccepted),
            ])
    }

    // MARK: Clients

    @Test("a half-closed client gets its answers")
    func halfClosed() async throws {
        let socket = try await RunningSocket()
        let peer = try SocketPeer(socket.path)
        peer.send("a\nb")
        peer.endInput()
        #expect(await comes { socket.intake.texts == ["a", "b"] })
        for index in 0...1 { socket.intake.end(index, .handled(MatchedRoutes())) }
        #expect(peer.answers(3) == [handled, handled])
    }

    @Test("submits the lines of a client that hung up")
    func hungUp() async throws {
        let socket = try await RunningSocket(clients: 1)
        socket.intake.setRoom(1)
        let peer = try SocketPeer(socket.path)
        peer.send((1...200).map { "\($0)\n" }.joined())
        peer.hangUp()
        #expect(await comes { socket.intake.isAwaited })
        socket.intake.setRoom(.max)
        #expect(await comes { socket.intake.texts == (1...200).map { "\($0)" } })
        // Its place is free again, though none of its payloads has ended.
        var peers: [SocketPeer] = []
        #expect(
            await comes {
                // Those that come too early are turned away.
                if let next = try? SocketPeer(socket.path) { peers.append(next) }
                peers.last?.send("next\n")
                return socket.intake.texts.last == "next"
            })
    }

    @Test("a client that reads no answers is paused without affecting others")
    func slowReader() async throws {
        let socket = try await RunningSocket(limit: 10)
        let slow = try SocketPeer(socket.path)
        // Each line costs far more to answer than to send.
        let lines = [UInt8](Array(repeating: Array("01234567890\n".utf8), count: 5000).joined())
        var sent = 0
        #expect(
            await comes {
                let count = slow.sendReady(lines)
                if count > 0 { sent += count }
                // Full, and still full when another client has been served meanwhile.
                guard count < 0, let other = try? SocketPeer(socket.path) else { return false }
                other.send("01234567890\n")
                return other.answer() == tooLong && slow.sendReady(lines) < 0
            })
        #expect(sent < 4 << 20)
        #expect(slow.answer() == tooLong)
    }

    @Test("a client may have 256 payloads unanswered; then it waits, and others do not")
    func unanswered() async throws {
        let socket = try await RunningSocket()
        let peer = try SocketPeer(socket.path)
        peer.send((1...300).map { "\($0)\n" }.joined())
        #expect(await comes { socket.intake.payloads.count == 256 })
        let other = try SocketPeer(socket.path)
        other.send("other\n")
        #expect(await comes { socket.intake.texts.last == "other" })
        #expect(socket.intake.payloads.count == 257)
        for index in 0..<256 { socket.intake.end(index, .handled(MatchedRoutes())) }
        #expect(await comes { socket.intake.payloads.count == 301 })
        #expect(peer.answers(256) == Array(repeating: handled, count: 256))
    }

    @Test("refuses clients above the limit")
    func tooMany() async throws {
        let socket = try await RunningSocket(clients: 2)
        let peers = try (0..<2).map { _ in try SocketPeer(socket.path) }
        for (index, peer) in peers.enumerated() {
            peer.send("\(index)\n")
            #expect(await comes { socket.intake.payloads.count == index + 1 })
        }
        let third = try SocketPeer(socket.path)
        #expect(third.answer() == #"{"outcome":"notTaken","disposition":"retryLater","reason":"tooManyClients"}"#)
        #expect(third.answer() == nil)
        #expect(socket.intake.events.last == .ignored("rejected a client, because 2 are connected already"))
    }

    @Test(
        "a client who has been silent for long makes room for one who has something to send, also in mid-line",
        arguments: ["", "half a line"])
    func silent(rest: String) async throws {
        let socket = try await RunningSocket(clients: 2, idle: .zero)
        let busy = try SocketPeer(socket.path)
        busy.send("busy\n")
        #expect(await comes { socket.intake.payloads.count == 1 })
        let silent = try SocketPeer(socket.path)
        silent.send("silent\n\(rest)")
        #expect(await comes { socket.intake.payloads.count == 2 })
        socket.intake.end(1, .handled(MatchedRoutes()))
        #expect(silent.answer() == handled)
        let third = try SocketPeer(socket.path)
        third.send("third\n")
        #expect(await comes { socket.intake.texts.last == "third" })
        #expect(silent.answer() == nil)
        socket.intake.end(0, .handled(MatchedRoutes()))
        #expect(busy.answer() == handled)
    }

    @Test("refuses clients of other users")
    func notAllowed() async throws {
        let socket = try await RunningSocket(users: [geteuid() + 1])
        let peer = try SocketPeer(socket.path)
        peer.send("a\n")
        #expect(peer.answer() == #"{"outcome":"notTaken","disposition":"reject","reason":"notAllowed"}"#)
        #expect(peer.answer() == nil)
        #expect(socket.intake.payloads.isEmpty)
        #expect(socket.intake.events.last == .ignored("rejected a client whose user may not use the socket"))
    }

    @Test("shares limited capacity between clients")
    func fair() async throws {
        let socket = try await RunningSocket()
        socket.intake.setRoom(0)
        let peers = try (0..<3).map { _ in try SocketPeer(socket.path) }
        for (index, peer) in peers.enumerated() { peer.send(String(repeating: "\(index)\n", count: 100)) }
        #expect(await comes { socket.intake.isAwaited })
        while Set(socket.intake.texts).count < 3, socket.intake.payloads.count < 190 {
            let count = socket.intake.payloads.count
            socket.intake.setRoom(1)
            #expect(await comes { socket.intake.payloads.count > count && socket.intake.isAwaited })
        }
        #expect(Set(socket.intake.texts) == ["0", "1", "2"])
        socket.intake.setRoom(.max)
    }

    @Test("what had to wait for room, or was not read for a while, is marked so")
    func waited() async throws {
        let socket = try await RunningSocket()
        let peer = try SocketPeer(socket.path)
        peer.send("a\n")
        #expect(await comes { socket.intake.payloads.count == 1 })
        socket.intake.setRoom(0)
        peer.send("b\n")
        let start = ContinuousClock.now
        #expect(await comes { socket.intake.isAwaited && ContinuousClock.now - start > .milliseconds(300) })
        socket.intake.setRoom(.max)
        #expect(await comes { socket.intake.payloads.count == 2 })
        #expect(socket.intake.payloads.map(\.hasWaited) == [false, true])
    }

    // MARK: The end

    @Test("when it is cancelled it takes no more, answers what it has taken, and returns")
    func cancelled() async throws {
        for (isDurable, answer) in [(false, left), (true, stored)] {
            let socket = try await RunningSocket(isDurable: isDurable)
            let peer = try SocketPeer(socket.path)
            socket.intake.setRoom(2)
            peer.send("a\nb\nc\nd")
            #expect(await comes { socket.intake.isAwaited })
            socket.intake.end(0, .handled(MatchedRoutes()))
            #expect(peer.answer() == handled)
            try await socket.stop()
            #expect(peer.answers(4) == [answer, stopping, stopping])
            #expect(socket.intake.texts == ["a", "b"])
            #expect(!socket.folder.names.contains("push.sock"))
        }
    }

    @Test("answers payloads that end soon after the cancellation")
    func endsWhileStopping() async throws {
        let socket = try await RunningSocket(stop: .seconds(60))
        let peer = try SocketPeer(socket.path)
        peer.send("a\n")
        #expect(await comes { socket.intake.payloads.count == 1 })
        socket.task.cancel()
        // The socket is gone as soon as it has begun to stop.
        #expect(await comes { !socket.folder.names.contains("push.sock") })
        socket.intake.end(0, .handled(MatchedRoutes()))
        #expect(peer.answer() == handled)
        try await socket.task.value
    }
}
