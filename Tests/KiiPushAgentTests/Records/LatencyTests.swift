import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushAgent
@testable import KiiPushDelivery
@testable import KiiPushTestSupport

extension RouteLatencies {
    fileprivate func of(_ route: String) -> Times? { times[ExactText(route)] }
}

@Suite(.timeLimit(.minutes(5)))
struct LatencyTests {
    @Test(
        "a quantile lies in its bucket and never exceeds the longest",
        arguments: [
            ([], 0.5, nil), ([3_000_000], 0.5, 2_500_000), ([3_000_000], 0.99, 2_990_000), ([0], 0.5, 0),
            ([150_000, 150_000, 150_000, 40_000_000], 0.5, 166_666), ([70_000_000_000], 1, 70_000_000_000),
            ([-5], 1, 0), ([100_000, 60_000_000_000], 0.25, 50_000),
        ] as [([Int64], Double, Int64?)])
    func quantile(lengths: [Int64], share: Double, expected: Int64?) {
        var histogram = LatencyHistogram()
        for length in lengths { histogram.add(length) }
        #expect(histogram.quantile(share) == expected)
        #expect(histogram.count == lengths.count)
        #expect(histogram.buckets.reduce(0, +) == lengths.count)
    }

    @Test("a length at a bucket's bound is in that bucket, and a sum that is too large stays at the most there is")
    func bounds() {
        var histogram = LatencyHistogram()
        for bound in LatencyHistogram.bounds { histogram.add(bound) }
        #expect(histogram.buckets == [Int](repeating: 1, count: LatencyHistogram.bounds.count) + [0])
        histogram.add(.max)
        histogram.add(.max)
        #expect(histogram.buckets.last == 2)
        #expect(histogram.sum == .max && histogram.longest == .max)
    }

    /// A receiver on whose route `slow` a handler takes 30 ms, and on `broken` one that fails after 2 ms.
    private func receiver(_ clock: ManualClock) -> PushReceiver {
        let receiver = PushReceiver(clock: clock)
        receiver.onPushToApp(id: "slow", bucket: "settings", options: .continue) { _, _ in
            clock.advance(by: .milliseconds(30))
        }
        receiver.onPushToApp(id: "broken", bucket: "settings") { _, _ in
            clock.advance(by: .milliseconds(2))
            throw TestFailure(what: "broken", code: 1)
        }
        return receiver
    }

    private func payload(_ clock: ManualClock) -> RawPayload {
        PayloadFixture.pushToApp().payload(.long).arrived(at: clock.now)
    }

    @Test("waiting counts from the arrival to the first attempt, handling each run, failed ones too")
    func routes() async throws {
        let clock = ManualClock()
        let (receiver, latencies) = (receiver(clock), RouteLatencies())
        receiver.onTrace { latencies.count($0) }
        let payload = payload(clock)
        clock.advance(by: .seconds(4))
        _ = await receiver.receive(payload)
        #expect(latencies.times.keys.map(\.text).sorted() == ["broken", "slow"])
        #expect(latencies.of("slow")?.waiting.sum == 4_000_000_000)
        #expect(latencies.of("slow")?.handling.sum == 30_000_000)
        #expect(latencies.of("broken")?.waiting.sum == 4_030_000_000)
        #expect(latencies.of("broken")?.handling.sum == 2_000_000)
        latencies.keep(["slow"])
        #expect(latencies.times.keys.map(\.text) == ["slow"])
    }

    @Test("another attempt counts as a run, but waited only once; ids that differ in bytes are different routes")
    func attempts() async throws {
        let latencies = RouteLatencies()
        let call = Trace.Call(route: "\u{E9}", isHandled: false, waitedNanoseconds: 5_000_000, nanoseconds: 1_000_000)
        let again = Trace.Call(route: "\u{E9}", isHandled: true, waitedNanoseconds: 900_000_000, nanoseconds: 1_000_000)
        let other = Trace.Call(route: "e\u{301}", isHandled: true, waitedNanoseconds: 7_000_000, nanoseconds: 1_000_000)
        latencies.count([call, again, other])
        #expect(latencies.of("\u{E9}")?.waiting.count == 1)
        #expect(latencies.of("\u{E9}")?.waiting.sum == 5_000_000)
        #expect(latencies.of("\u{E9}")?.handling.count == 2)
        #expect(latencies.of("e\u{301}")?.waiting.sum == 7_000_000)
    }

    @Test("the routes that are kept have a bound; those beyond it share one entry, until others are forgotten")
    func bounded() {
        let latencies = RouteLatencies()
        for number in 0..<1100 {
            let call = Trace.Call(route: "r\(number)", isHandled: true, waitedNanoseconds: 1, nanoseconds: 1)
            latencies.count([call])
        }
        #expect(latencies.times.count == 1025)
        #expect(latencies.of("other")?.handling.count == 76)
        latencies.keep(["r1099"])
        #expect(latencies.times.isEmpty)
    }

    @Test("the metrics have a histogram a route, whose buckets count all that is shorter")
    func metrics() async throws {
        let folder = try Folder()
        let clock = ManualClock()
        let (receiver, latencies) = (receiver(clock), RouteLatencies())
        receiver.onTrace { latencies.count($0) }
        _ = await receiver.receive(payload(clock))
        let file = MetricsFile(
            metrics: receiver.metrics, status: ServiceStatus(), latencies: latencies.times, deadLetters: 7,
            areDeadLettersFull: false, kills: 2, silent: ["": false, "news": true])
        try file.write(to: folder["m"])
        let lines = try folder.read("m").split(separator: "\n")
        let slow = lines.filter { $0.hasPrefix(#"kiipush_route_handling_seconds_bucket{route="slow""#) }
        #expect(slow.count == LatencyHistogram.bounds.count + 1)
        #expect(slow.first == #"kiipush_route_handling_seconds_bucket{route="slow",le="0.0001"} 0"#)
        #expect(slow.contains(#"kiipush_route_handling_seconds_bucket{route="slow",le="0.02"} 0"#))
        #expect(slow.contains(#"kiipush_route_handling_seconds_bucket{route="slow",le="0.05"} 1"#))
        #expect(slow.last == #"kiipush_route_handling_seconds_bucket{route="slow",le="+Inf"} 1"#)
        for line in [
            "# TYPE kiipush_route_waiting_seconds histogram",
            #"kiipush_route_handling_seconds_sum{route="slow"} 0.03"#,
            #"kiipush_route_handling_seconds_count{route="broken"} 1"#,
            #"kiipush_route_waiting_seconds_sum{route="broken"} 0.03"#, "kiipush_dead_letters 7",
            "kiipush_dead_letters_full 0", "kiipush_kills 2", #"kiipush_silent{route=""} 0"#,
            #"kiipush_silent{route="news"} 1"#,
        ] {
            #expect(lines.filter { $0 == line }.count == 1, "\(line)")
        }
    }
}

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
        let inbox = SpyInbox { _, what in what.hasPrefix("add") }
        let service = PushService(PushReceiver(), [WatchedTransport(transport, counts)], inbox: inbox)
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
