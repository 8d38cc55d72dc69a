import Foundation
import KiiPush
import KiiPushSystem
import KiiPushTesting
import Testing

@testable import KiiPushAgent
@testable import kiipush

/// What the guide WatchingAnAgent shows of an agent, against what the tool prints.
@Suite("the status and the message that the guide shows")
struct WatchingGuideTests {
    /// The agent of the guide's example.
    private static var agent: AgentStatus {
        var status = AgentStatus(
            version: "0.1.0", process: 4242, state: "/var/lib/kiipush",
            since: UTCDate("2026-11-22T10:00:00Z") ?? .now, uptime: 11_045, isOpen: true)
        status.transports = [
            .init(
                name: "mqtt", state: .connected, forSeconds: 3600,
                detail: "MQTT 3.1.1 over TLS, session kept, QoS 1 granted", lastMessageAgo: 4, messages: 12_345)
        ]
        status.queue = .init(messages: 12, bytes: 3481, waiting: 3, handling: 8, retrying: 1)
        status.outcomes = [
            .init(outcome: "handled", messages: 12_000), .init(outcome: "duplicate", reason: "done", messages: 326),
            .init(outcome: "deadLettered", reason: "failed", messages: 7),
        ]
        status.deadLetters.count = 7
        status.kills = [.init(target: "news", until: UTCDate("2026-11-22T14:00:00Z"))]
        status.routes = [
            .init(id: "settings", handled: 12_000, failed: 7, p50: 1.2, p99: 20, waitedP99: 0.3), .init(id: "news"),
        ]
        return status
    }

    /// The blocks of the guide that begin with a text, line by line.
    private func shown(_ beginning: String) throws -> [[String]] {
        let guide = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/KiiPush/KiiPush.docc/WatchingAnAgent.md")
        let blocks = try String(contentsOf: guide, encoding: .utf8).components(separatedBy: "\n```\n")
        return blocks.filter { $0.hasPrefix(beginning) }.map { $0.components(separatedBy: "\n") }
    }

    @Test("the status is what kiipush status prints on a terminal of 80 columns")
    func status() throws {
        #expect(try shown("agent ") == [StatusText(status: Self.agent, width: 80).lines])
    }

    @Test("the message is what kiipush tap prints when the same one comes again")
    func tap() async throws {
        let (clock, board) = (ManualClock(), TapBoard())
        let receiver = PushReceiver(clock: clock)
        receiver.onPushToApp("settings", bucket: "settings") { _, _ in }
        receiver.onTrace { board.offer($0) }
        let reader = try #require(try board.add(TapOptions()))
        let bytes = Array(#"{"bucketID":"settings","objectID":"o-1","objectScopeType":"APP","when":1}"#.utf8)
        let payload = RawPayload(bytes, arrivedAt: clock.now)
        clock.advance(by: .microseconds(100))
        for _ in 1...2 { _ = await receiver.receive(payload) }
        let traces = reader.take().messages.map(\.trace)
        let time = try #require(UTCDate("2026-11-22T13:04:01.123Z"))
        #expect(try shown("13:04:01") == [traces.dropFirst().map { TappedMessage(trace: $0, time: time).text }])
    }
}
