import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushAgent
@testable import KiiPushTestSupport

@Suite(.timeLimit(.minutes(5)))
struct TransportLinkTests {
    @Test("a link begins, connects, is lost and ends, and what it brings is counted with its time")
    func states() async throws {
        let clock = ManualClock()
        let counts = ServiceCounts(clock: clock)
        let receiver = PushReceiver(clock: clock)
        let seen = Mutex<[TransportLink]>([])
        let look: @Sendable () -> Void = {
            clock.advance(by: .seconds(1))
            seen.withLock { $0 += counts.links }
        }
        let transport = ScriptedTransport { intake in
            look()
            intake.report(.connected("QoS 1"))
            look()
            _ = try intake.submit([RawPayload("x"), RawPayload("y")])
            look()
            intake.report(.disconnected("gone", retryIn: .seconds(1)))
            look()
            intake.report(.disconnected("closed", retryIn: .seconds(2)))
            look()
            intake.report(.refused("not authorised", retryIn: .seconds(1)))
            look()
        }
        let service = PushService(receiver, [WatchedTransport(transport, counts)])
        service.onEvent { counts.count($0) }
        look()
        try await service.run()
        look()
        let links = seen.withLock { $0 }
        #expect(
            links.map(\.state) == [
                .starting, .connecting, .connected, .connected, .reconnecting, .reconnecting, .refused, .ended,
            ])
        #expect(links.map { $0.since.nanoseconds / 1_000_000_000 } == [0, 1, 2, 2, 4, 4, 6, 7])
        #expect(
            links.map(\.detail) == [
                nil, nil, "QoS 1", "QoS 1", "gone", "closed", "not authorised", "not authorised",
            ])
        #expect(links.map(\.messages) == [0, 0, 0, 2, 2, 2, 2, 2])
        #expect(links.last?.lastMessageAt == MonotonicInstant(nanoseconds: 3_000_000_000))
        #expect(links.map(\.isUp) == [false, false, true, true, false, false, false, false])
    }

    @Test("a transport without a connection counts as connected while it runs")
    func unlinked() async throws {
        let counts = ServiceCounts(clock: ManualClock())
        let state = Mutex<TransportLink.State?>(nil)
        let transport = ScriptedTransport { _ in state.withLock { $0 = counts.links.first?.state } }
        try await PushService(PushReceiver(), [WatchedTransport(transport, counts, connects: false)]).run()
        #expect(state.withLock { $0 } == .connected)
        #expect(counts.links.first?.state == .ended)
    }

    @Test("refused payloads do not count as messages")
    func refused() async throws {
        let counts = ServiceCounts(clock: ManualClock())
        let transport = ScriptedTransport { intake in
            do { _ = try intake.submit([RawPayload([UInt8](repeating: 32, count: 10)), RawPayload("{}")]) } catch {}
        }
        let service = PushService(PushReceiver(), [WatchedTransport(transport, counts)], inbox: FullInbox())
        try await service.run()
        #expect(counts.links.first?.lastMessageAt == nil && counts.links.first?.messages == 0)
    }

    @Test("the metrics say whether a link is up, and for how long nothing came over it")
    func metrics() throws {
        let folder = try Folder()
        let clock = ManualClock()
        let counts = ServiceCounts(clock: clock)
        counts.begin("mqtt", isConnected: false)
        counts.expect("unix")
        clock.advance(by: .seconds(10))
        counts.count(.transport("mqtt", .connected("")))
        counts.took(3, "mqtt")
        clock.advance(by: .seconds(5))
        let file = MetricsFile(metrics: PushReceiver().metrics, status: ServiceStatus(), counts: counts)
        try file.write(to: folder["m"])
        let lines = try folder.read("m").split(separator: "\n").filter { !$0.hasPrefix("#") }
        for line in [
            "kiipush_uptime_seconds 15", #"kiipush_transport_up{transport="mqtt"} 1"#,
            #"kiipush_transport_up{transport="unix"} 0"#, #"kiipush_transport_silence_seconds{transport="mqtt"} 5"#,
            #"kiipush_transport_silence_seconds{transport="unix"} 15"#,
            #"kiipush_transport_payloads_total{transport="mqtt"} 3"#,
        ] {
            #expect(lines.filter { $0 == line }.count == 1, "\(line)")
        }
    }
}

/// An inbox that takes nothing.
private struct FullInbox: Inbox {
    var isDurable: Bool { false }
    func entries(of ids: [UInt64]) throws -> [InboxEntry] { [] }
    func add(_ payloads: [RawPayload]) throws -> [UInt64] { throw TestFailure(what: "full", code: 28) }
    func entries(after id: UInt64, limit: Int) throws -> [InboxEntry] { [] }
    func record(_ records: [InboxRecord]) async throws {}
}
