import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush

/// What a handler that borrows can read, keep and do.
@Suite(.timeLimit(.minutes(1)))
struct LentEventTests {
    private let log = EventLog()
    private let event = PayloadFixture.pushToApp(
        bucket: "settings", object: "o \"1\"", scope: .user(KiiUser(id: "U1")), sender: "U-a", sentAt: 7, modifiedAt: 6)

    @Test("every part is compared and read where it lies", arguments: PayloadFixture.KeyStyle.allCases)
    func parts(style: PayloadFixture.KeyStyle) async throws {
        let receiver = PushReceiver()
        let (log, style) = (log, style)
        receiver.onLent("r") { event in
            for part in LentEvent.Part.allCases {
                let text = event.text(part)
                let bytes = event.withBytes(of: part) { bytes in bytes.count }
                #expect(bytes == text?.utf8.count)
                // In variables, since what is lent cannot be handed to the macro.
                let (same, longer, empty) = (
                    event.matches(part, text ?? ""), event.matches(part, (text ?? "") + "!"), event.matches(part, "")
                )
                #expect((same, longer, empty) == (text != nil, false, false))
                log.add("\(part) \(text ?? "-")")
            }
            let (kind, certainty, scopeKind) = (event.kind, event.certainty, event.scopeKind)
            #expect((kind, certainty, scopeKind) == (.pushToApp, .certain, .user))
            let (sentAt, modifiedAt) = (event.sentAt, event.modifiedAt)
            #expect((sentAt, modifiedAt) == (7, style == .short ? nil : 6))
            let (route, attempt, messageID) = (event.route, event.attempt, event.messageID)
            #expect((route, attempt, messageID) == ("r", 1, 1))
        }
        #expect(await "\(receiver.receive(event.payload(style)))" == "handled")
        let sender = style == .short ? "-" : "U-a"
        #expect(
            log.events == [
                "bucket settings", "object o \"1\"", "topic -", "scopeID U1", "sender \(sender)", "app 0123abcd",
                "event DATA_OBJECT_UPDATED",
            ])
    }

    @Test("a message that a handler keeps stays as it is, whatever the loop takes next")
    func kept() async throws {
        let receiver = PushReceiver()
        let kept = Mutex<[PushMessage]>([])
        receiver.onLent(object: .any) { event in
            if event.matches(.object, "keep") { kept.withLock { $0.append(event.message) } }
        }
        var loop = ReceiveLoop(receiver)
        let payloads = (1...40).map { number -> RawPayload in
            let (object, time) = (number % 3 == 0 ? "keep" : "o", Int64(number))
            let fixture = PayloadFixture.pushToApp(
                bucket: "b\(number)", object: object, sentAt: time, modifiedAt: time)
            return fixture.payload(.long)
        }
        let ends = await loop.receive(contentsOf: payloads)
        #expect(ends.allSatisfy { $0 == .accept })
        let messages = kept.withLock { $0 }
        let numbers = Array(stride(from: 3, to: 41, by: 3))
        #expect(messages.map { $0.bucket?.name } == numbers.map { number -> String? in "b\(number)" })
        #expect(messages.map(\.raw.bytes) == numbers.map { payloads[$0 - 1].bytes })
    }

    @Test("what a handler that borrows throws is the outcome, and the message is handled when it comes again")
    func failure() async {
        let receiver = PushReceiver()
        let isRepaired = Flag()
        receiver.onLent("r", kind: .pushToApp) { _ in if !isRepaired.isSet { throw TestError() } }
        var loop = ReceiveLoop(receiver)
        let outcome = await loop.receive(event.payload(.long))
        #expect(outcome.disposition == .retryLater)
        #expect(outcome.reason == "r")
        isRepaired.set()
        #expect(await "\(loop.receive(event.payload(.long)))" == "handled")
        let route = receiver.metrics.routes[0]
        #expect((route.handled, route.failed) == (1, 1))
    }

    @Test("the event of a write that a handler that borrows has announced is dropped")
    func announced() async throws {
        let receiver = PushReceiver()
        let object = try #require(PushMessage(event.payload(.long)).object)
        let own = PayloadFixture.pushToApp(
            bucket: "settings", object: "o \"1\"", scope: .user(KiiUser(id: "U1")), sender: nil, sentAt: 9,
            modifiedAt: 8)
        receiver.onLent("r") { event in
            let write = try event.context.willWrite(object)
            write.done(modifiedAt: 8)
        }
        var loop = ReceiveLoop(receiver)
        #expect(await "\(loop.receive(event.payload(.long)))" == "handled")
        #expect(await "\(loop.receive(own.payload(.long)))" == "looped (echo)")
    }

    @Test("two copies in one batch, and one beside it, are handled once")
    func copies() async {
        let receiver = PushReceiver()
        let log = log
        receiver.onLent { _ in log.add("handled") }
        var loop = ReceiveLoop(receiver)
        let payload = event.payload(.long)
        #expect(await loop.receive(contentsOf: [payload, payload]) == [.accept, .accept])
        #expect(await "\(receiver.receive(payload))" == "duplicate (done)")
        #expect(log.events == ["handled"])
        #expect(receiver.metrics.nonzero == ["handled: 1", "duplicate done: 2"])
    }
}
