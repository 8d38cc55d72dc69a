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
        receiver.onAny(id: "r") { _, _ in }
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
        #expect(receiver.traceListeners.isEmpty, "nobody listens, and no trace is made")
        receiver.onTrace { _ in log.add("4") }
        _ = await receiver.receive(event)
        #expect(log.events.dropFirst(5) == ["4"])
    }

    @Test("a removed listener hears nothing more, not even of a message whose handler runs")
    func removedMeanwhile() async {
        let receiver = PushReceiver(clock: clock) {}
        let token = receiver.onTrace { [traces] in traces.add($0) }
        receiver.onAny(id: "r") { _, _ in token.remove() }
        #expect(await "\(receiver.receive(event))" == "handled")
        #expect(traces.traces.isEmpty)
    }

    @Test("a deinitializer of what a listener or handler captured may call the receiver")
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

    @Test("each stage has its own time, and the total is their sum")
    func durations() async throws {
        let clock = clock
        let receiver = PushReceiver(clock: clock) {
            Probe("slow middleware", EventLog()) {
                clock.advance(by: .nanoseconds(30))
                return .pass
            }
        }
        receiver.onAny(id: "a", options: .continue) { _, _ in clock.advance(by: .nanoseconds(400)) }
        receiver.onAny(id: "b") { _, _ in
            clock.advance(by: .nanoseconds(5000))
            throw TestError()
        }
        receiver.onTrace { [traces] in traces.add($0) }
        _ = await receiver.receive(event)
        let trace = try #require(traces.traces.first)
        #expect(trace.stages.map(\.name) == ["decode", "route", "slow middleware", "handle a", "handle b"])
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
                  slow middleware: pass (30 ns)
                  handle a: handled (400 ns)
                  handle b: threw TestError (5000 ns)
                """)
    }

    @Test("the waiting time counts from the arrival, and to the end if no handler runs")
    func waited() async throws {
        let receiver = PushReceiver(clock: clock) {}
        receiver.onTrace { [traces] in traces.add($0) }
        let payload = event.arrived(at: clock.now)
        clock.advance(by: .nanoseconds(70))
        _ = await receiver.receive(payload)
        #expect(traces.traces.first?.waitedNanoseconds == 70)
        #expect(traces.traces.first?.calls == [])
    }
}
