import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct TraceTests {
    let clock = ManualClock()
    let traces = TraceLog()
    let event = PayloadFixture.pushToApp().payload(.long)

    @Test("a listener hears of every message while registered")
    func listening() async {
        let receiver = PushReceiver(clock: clock) {}
        receiver.onAny("r") { _, _ in }
        _ = await receiver.receive(event)
        let token = receiver.onTrace { [traces] in traces.add($0) }
        _ = await receiver.receive(event)
        _ = await receiver.receive(RawPayload("", transport: .fcm))
        token.remove()
        _ = await receiver.receive(event)
        #expect(traces.traces.map(\.messageID) == [2, 3])
        #expect(traces.traces.map(\.transport) == [.mqtt, .fcm])
        #expect(traces.traces.map { "\($0.outcome)" } == ["handled", "undecodable (empty)"])
        #expect(traces.traces.map { $0.message?.kind } == [.pushToApp, nil])
    }

    @Test("several listeners are called in the order in which they were added, until each is removed")
    func several() async {
        let receiver = PushReceiver(clock: clock) {}
        let log = EventLog()
        let tokens = ["1", "2", "3"].map { name in receiver.onTrace { _ in log.add(name) } }
        _ = await receiver.receive(event)
        #expect(log.events == ["1", "2", "3"])
        // A token that is used twice removes no other listener.
        for _ in 0..<2 { tokens[1].remove() }
        _ = await receiver.receive(event)
        #expect(log.events.dropFirst(3) == ["1", "3"])
        for token in tokens { token.remove() }
        #expect(receiver.listener == nil, "nobody listens, and no trace is made")
        receiver.onTrace { _ in log.add("4") }
        _ = await receiver.receive(event)
        #expect(log.events.dropFirst(5) == ["4"])
    }

    @Test("a removed listener hears nothing more, not even of a message whose handler runs")
    func removedMeanwhile() async {
        let receiver = PushReceiver(clock: clock) {}
        let token = receiver.onTrace { [traces] in traces.add($0) }
        receiver.onAny("r") { _, _ in token.remove() }
        #expect(await "\(receiver.receive(event))" == "handled")
        #expect(traces.traces.isEmpty)
    }

    @Test("what a removed listener or a replaced handler has captured may call the receiver as it ends")
    func endsOutsideOfLocks() {
        final class Last: Sendable {
            let receiver: PushReceiver
            let log: EventLog

            init(_ receiver: PushReceiver, _ log: EventLog) { (self.receiver, self.log) = (receiver, log) }
            deinit { log.add("\(receiver.metrics.received), \(receiver.loopGuard?.paced.count ?? -1)") }
        }
        let (receiver, log) = (PushReceiver(clock: clock), EventLog())
        func listener<Event>() -> @Sendable (Event) -> Void {
            let last = Last(receiver, log)
            return { _ in _ = last }
        }
        receiver.onTrace(listener()).remove()
        receiver.onDeadLetter(listener()).remove()
        receiver.loopGuard?.onPaced(listener()).remove()
        receiver.loopGuard?.onRisk(listener()).remove()
        let handler: @Sendable (PushMessage) -> Void = listener()
        receiver.register("h") { message, _ in handler(message) }
        #expect(log.events.count == 4)
        receiver.register("h") { _, _ in }
        #expect(log.events.count >= 4)
    }

    @Test("listeners are called before the outcome returns")
    func beforeReturn() async {
        let receiver = PushReceiver(clock: clock) {}
        receiver.onTrace { [traces] in traces.add($0) }
        for count in 1...3 {
            _ = await receiver.receive(event)
            #expect(traces.traces.count == count)
        }
    }

    @Test("each stage has its own time, and the total is their sum")
    func durations() async throws {
        let clock = clock
        let receiver = PushReceiver(clock: clock) {
            Probe("slow stage", EventLog()) {
                clock.advance(by: .nanoseconds(30))
                return .pass
            }
        }
        receiver.onAny("a", options: .continue) { _, _ in clock.advance(by: .nanoseconds(400)) }
        receiver.onAny("b") { _, _ in
            clock.advance(by: .nanoseconds(5000))
            throw TestError()
        }
        receiver.onTrace { [traces] in traces.add($0) }
        _ = await receiver.receive(event)
        let trace = try #require(traces.traces.first)
        #expect(trace.stages.map(\.name) == ["decode", "route", "slow stage", "handle a", "handle b"])
        #expect(trace.stages.map(\.nanoseconds) == [0, 0, 30, 400, 5000])
        #expect(trace.nanoseconds == 5430)
        #expect(
            trace.calls == [
                Trace.Call(route: "a", isHandled: true, waitedNanoseconds: 30, nanoseconds: 400),
                Trace.Call(route: "b", isHandled: false, waitedNanoseconds: 430, nanoseconds: 5000),
            ])
        #expect(trace.waitedNanoseconds == 30 && trace.handlingNanoseconds == 5400)
        #expect(
            trace.description == """
                message 1, Push to App, certain: failed (b), 5430 ns
                  decode: Push to App, certain (0 ns)
                  route: a, b (0 ns)
                  slow stage: pass (30 ns)
                  handle a: handled (400 ns)
                  handle b: threw TestError (5000 ns)
                """)
    }

    @Test("a message waits from its arrival on, to its end where no handler is called")
    func waited() async throws {
        let receiver = PushReceiver(clock: clock) {}
        receiver.onTrace { [traces] in traces.add($0) }
        var payload = event
        payload.arrivedAt = clock.now
        clock.advance(by: .nanoseconds(70))
        _ = await receiver.receive(payload)
        #expect(traces.traces.first?.waitedNanoseconds == 70)
        #expect(traces.traces.first?.calls == [])
    }

    // MARK: Silence

    /// An error that says what a handler read.
    private struct TellTale: Error, CustomStringConvertible {
        let description: String
    }

    /// Every text in a payload of every kind and style, and every value of the ways to break one, has this in it.
    private static let mark = "xyzzy"
    /// In the data only: a message shows ids and names, but no data.
    private static let secret = "xyzzy-plugh"

    private static var payloads: [RawPayload] {
        let scope = KiiScope.user(KiiUser(id: "U-\(mark)"))
        var imitation = PayloadFixture.pushToApp(bucket: mark, scope: scope)
        imitation.fields[.topic] = mark
        imitation.fields[.sourceURI] = "kiicloud://users/\(mark)/buckets/other"
        let fixtures: [PayloadFixture] = [
            .pushToApp(
                bucket: mark, object: mark, event: KiiEvent(mark), scope: scope, sender: "th.\(mark)", app: mark),
            .pushToUser(topic: mark, scope: scope, sender: mark, data: [(secret, .string(secret))], app: mark),
            .directPush(recipient: mark, data: [(secret, .string(secret))]), imitation,
        ]
        let broken = [
            mark, "\"\(mark)\"", "{\"\(mark)\":\(mark)}", "{\"\(mark)\":\"\(mark)", "{\"\(mark)\":1,\"\(mark)\":2}",
            "{\"\(mark)\":\"\(mark)\\q\"}", "{\"\(mark)\":01}", "{\"a\":\"\(mark)\n\"}", "{\"a\":1}\(mark)",
        ]
        return fixtures.flatMap { fixture in PayloadFixture.KeyStyle.allCases.map { fixture.payload($0) } }
            + broken.map { RawPayload($0, transport: .mqtt, transportMessageID: mark) }
    }

    @Test("no trace and no outcome prints a value of the payload, whatever the message ends in", arguments: 0..<5)
    func silent(variant: Int) async {
        let receiver = PushReceiver(app: variant == 1 ? "0123abcd" : Self.mark, clock: clock) {
            Deduplicator(clock: clock)
            if variant == 2 { Probe("broken", EventLog()) { throw TellTale(description: Self.mark) } }
            LoopGuard(me: variant == 3 ? [.thing(id: "th.\(Self.mark)")] : [], clock: clock)
            ScopeFilter(serving: variant == 4 ? .app : nil)
        }
        receiver.onAny("r", certainty: variant == 0 ? Certainty.allCases : [.certain]) { message, _ in
            throw TellTale(description: message.data.keys.joined() + Self.mark)
        }
        receiver.onTrace { [traces] in traces.add($0) }
        for payload in Self.payloads + Self.payloads {
            let outcome = await receiver.receive(payload)
            #expect(!"\(outcome) \(String(reflecting: outcome)) \(outcome.reason ?? "")".contains(Self.mark))
        }
        #expect(traces.traces.count == 2 * Self.payloads.count)
        for trace in traces.traces {
            let printed = "\(trace) \(String(reflecting: trace)) \(trace.stages)"
            #expect(!printed.contains(Self.mark), "\(printed)")
            if let message = trace.message {
                #expect(!"\(message) \(String(reflecting: message))".contains(Self.secret))
                #expect(!"\(message.classification)".contains(Self.mark))
            }
        }
        #expect(!"\(receiver.metrics)".contains(Self.mark))
    }
}
