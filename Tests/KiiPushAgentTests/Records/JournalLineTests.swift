import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushAgent
@testable import KiiPushDelivery

struct JournalLineTests {
    private struct Secret: Error, CustomStringConvertible { let description = "what the payload says" }

    private func line(_ payload: RawPayload, _ set: (PushReceiver) -> Void) async throws -> String {
        let receiver = PushReceiver()
        let traces = Mutex<[Trace]>([])
        receiver.onTrace { trace in traces.withLock { $0.append(trace) } }
        set(receiver)
        _ = await receiver.receive(payload)
        let line = JournalLine(try #require(traces.withLock { $0.last })).description
        let end = try #require(line.lastIndex(of: ";"))
        #expect(line[end...].hasSuffix("s"))
        return String(line[..<end])
    }

    @Test("a line has the outcome and its priority, and nothing of the payload")
    func outcomes() async throws {
        let payload = PayloadFixture.pushToApp(bucket: "secret-bucket", object: "secret-object", sender: "secret-user")
            .payload(.long)
        let size = payload.bytes.count
        #expect(
            try await line(payload) { $0.onPushToApp(id: "settings") { _, _ in } }
                == "<6>message 1: handled; route settings; pushToApp, certain; mqtt, \(size) bytes")
        #expect(
            try await line(payload) { _ in }
                == "<6>message 1: unrouted (noRoute); pushToApp, certain; mqtt, \(size) bytes")
        #expect(
            try await line(payload) { $0.onAny(id: "a\nb") { _, _ in throw Secret() } }
                == #"<4>message 1: failed (a\nb): Secret; route a\nb; pushToApp, certain; mqtt, \#(size) bytes"#)
        #expect(
            try await line(payload) { receiver in
                receiver.onAny(id: "r") { _, _ in throw ProgramError.exited(program: "reload", status: 3) }
            }
                == "<4>message 1: failed (r): reload: ended with exit status 3; route r; pushToApp, certain; mqtt, \(size) bytes"
        )
        #expect(
            try await line(RawPayload("{secret", transport: "n\u{1B}")) { _ in }
                == "<4>message 1: undecodable (unexpectedCharacter) at byte 1: expected a key in double quotes; n\\u001b"
        )
        #expect(
            try await line(payload) { receiver in
                for number in 1...10 { receiver.onAny(id: "r\(number)", options: .continue) { _, _ in } }
            }
                == "<6>message 1: handled; routes r1, r2, r3, r4, r5, r6, r7, r8 and 2 more; pushToApp, certain; mqtt, \(size) bytes"
        )
    }

    @Test("a text that would fill the log is cut")
    func long() {
        let text = JournalLine(.information, String(repeating: "é", count: LogWriter.mostBytes)).text
        #expect(text == String(repeating: "é", count: JournalLine.mostBytes / 2) + "…")
    }

    @Test("reports expired messages and the routes that skipped them")
    func expired() async throws {
        let payload = PayloadFixture.pushToUser(sentAt: 1).payload(.long)
        let size = payload.bytes.count
        var door = DeliverySettings()
        door.maxAge = .seconds(30)
        #expect(
            try await line(payload) { $0.onAny(id: "door", options: RouteOptions(delivery: door)) { _, _ in } }
                == "<6>message 1: expired; route door; pushToUser, certain; mqtt, \(size) bytes")
        let inSeconds = try await line(PayloadFixture.pushToUser(sentAt: 1_700_000_000).payload(.long)) { receiver in
            receiver.onPushToUser(id: "door", options: RouteOptions(delivery: door)) { _, _ in }
        }
        #expect(inSeconds.contains("; its 'when' is probably in seconds, not milliseconds; "), "\(inSeconds)")
        #expect(
            try await line(payload) { receiver in
                receiver.onAny(id: "door", options: RouteOptions(then: .continue, delivery: door)) { _, _ in }
                receiver.onAny(id: "log") { _, _ in }
            }
                == "<6>message 1: handled; routes door, log; too old for door; pushToUser, certain; mqtt, \(size) bytes"
        )
    }

    @Test(
        "a service's event is a line with its priority, without control characters, and of one kind and route",
        arguments: [
            (
                .retry(messageID: 7, route: "r", attempt: 2, pause: .milliseconds(400), cause: "ProgramError"),
                "retry", "r", "<4>message 7: attempt 2 failed (ProgramError); route r; again in 400 ms"
            ),
            (
                .overrun(messageID: 7, route: "r", isLeft: false), "overrun", "r",
                "<4>message 7: the handler of r took too long and is cancelled"
            ),
            (
                .overrun(messageID: 7, route: "r", isLeft: true), "handler left", "r",
                "<3>message 7: the handler of r did not return after it was cancelled, and is left"
            ),
            (.storeFailed("inbox: disk\nfull"), "store failed", "", #"<3>inbox: disk\nfull"#),
            (.notDurable("letters\nlost"), "not durable", "", #"<4>letters\nlost"#),
            (.transport("mqtt", .connected("QoS 1")), "connected", "mqtt", "<6>mqtt: QoS 1"),
            (
                .transport("mqtt", .disconnected("refused", retryIn: .microseconds(1_500_042))), "disconnected", "mqtt",
                "<4>mqtt: disconnected: refused; again in 1.5 s"
            ),
            (
                .transport("mqtt", .refused("not authorised", retryIn: .seconds(1))), "refused", "mqtt",
                "<4>mqtt: refused: not authorised; again in 1.0 s, then with longer pauses"
            ),
            (
                .transport("mqtt", .possibleGap("new session")), "messages may be lost", "mqtt",
                "<3>mqtt: messages may be lost: new session"
            ),
            (
                .transport("m\u{7}", .ignored("a\u{1B}[2J")), "ignored", "m\u{7}",
                #"<4>m\u0007: ignored: a\u{1B}[2J"#
            ),
        ] as [(ServiceEvent, String, String, String)])
    func events(event: ServiceEvent, kind: String, route: String, line: String) {
        #expect(JournalLine(event).description == line)
        #expect(LineQuota.Key(event) == LineQuota.Key(kind: kind, route: route))
    }

    @Test("dead letters are errors, waiting messages information, and no text makes another line")
    func priorities() {
        #expect(JournalLine(.information, "a\nb").description == #"<6>a\nb"#)
        func priority(_ outcome: Outcome) -> JournalLine.Priority {
            JournalLine(
                Trace(
                    messageID: 1, message: nil, transport: nil, outcome: outcome, generation: 0, nanoseconds: 1_234_567,
                    waitedNanoseconds: 0, record: TraceRecord())
            ).priority
        }
        #expect(priority(.deadLettered(.failed)) == .error)
        #expect(priority(.quarantined) == .error)
        #expect(priority(.superseded) == .information)
        #expect(priority(.paced(until: .init(nanoseconds: 0))) == .information)
        #expect(priority(.expired) == .information)
        #expect(priority(.looped(.echo)) == .information)
    }
}

struct SilenceWatchTests {
    private let clock = ManualClock()

    /// A receiver that tells a watch of its messages.
    private func receiver(_ silence: SilenceWatch) -> PushReceiver {
        let receiver = PushReceiver(clock: clock)
        receiver.onPushToUser(id: "news", topic: "news") { _, _ in }
        receiver.onPushToApp(id: "settings") { _, _ in }
        receiver.onTrace { silence.saw($0) }
        return receiver
    }

    @Test("reports a silence once when it is too long, and once when it ends")
    func told() async {
        let silence = SilenceWatch(
            [.init(length: .seconds(10)), .init(route: "news", length: .seconds(60))], clock: clock)
        let receiver = receiver(silence)
        var changes: [String] = []
        func look(after seconds: Int) {
            clock.advance(by: .seconds(seconds))
            changes += silence.look().map(\.description)
        }
        look(after: 9)
        #expect(changes.isEmpty && silence.states == ["": false, "news": false])
        look(after: 3)
        look(after: 1)
        #expect(changes == ["silent: nothing came for 12s"])
        #expect(silence.silent.map(\.route) == [""])
        _ = await receiver.receive(PayloadFixture.pushToApp().payload(.long))
        look(after: 1)
        #expect(changes.last == "no longer silent: nothing had come for 13s")
        look(after: 50)
        #expect(changes.suffix(2) == ["silent: nothing came for 51s", "silent: nothing for route news came for 64s"])
        #expect(silence.states == ["": true, "news": true])
        _ = await receiver.receive(PayloadFixture.pushToUser(topic: "news").payload(.long))
        look(after: 0)
        #expect(changes.count == 6 && silence.states == ["": false, "news": false])
    }

    @Test("undecodable messages and duplicates end a silence")
    func signs() async {
        let silence = SilenceWatch([.init(length: .seconds(10))], clock: clock)
        let receiver = receiver(silence)
        for payload in [
            PayloadFixture.pushToApp().payload(.long), PayloadFixture.pushToApp().payload(.long), RawPayload("x"),
        ] {
            clock.advance(by: .seconds(9))
            _ = await receiver.receive(payload)
            let changes = silence.look()
            #expect(changes.isEmpty)
        }
    }
}
