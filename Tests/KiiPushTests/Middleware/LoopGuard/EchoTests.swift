import KiiPushTesting
import Testing

@testable import KiiPush

struct EchoTests {
    static let object = KiiObject(bucket: KiiBucket(scope: .app, name: "settings"), id: "o-1")

    enum Report {
        case nothing
        case done(Int64?)
        case failed
    }

    /// An announced write, what was reported of it, and an event; whether the event is cut.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var report = Report.nothing
        var payload = PayloadFixture.pushToApp(sender: nil, modifiedAt: 7).payload(.long)
        /// How many seconds after the announcement the event comes.
        var after: Int64 = 0
        let isCut: Bool
    }

    private static func event(sender: String? = nil, modifiedAt: Int64? = 7, event: KiiEvent = .objectUpdated)
        -> PayloadFixture
    {
        .pushToApp(event: event, sender: sender, modifiedAt: modifiedAt)
    }

    private static var anotherApps: RawPayload { PayloadFixture.pushToApp(sender: nil, app: "ffff0000").payload(.long) }

    static let rows: [Row] = [
        Row(testDescription: "before it is done", isCut: true),
        Row(testDescription: "done, no time told", report: .done(nil), isCut: true),
        Row(testDescription: "done at the event's time", report: .done(7), isCut: true),
        Row(testDescription: "done at another time", report: .done(8), isCut: false),
        Row(testDescription: "failed", report: .failed, isCut: false),
        Row(
            testDescription: "done, and the event tells no time", report: .done(8),
            payload: event(modifiedAt: nil).payload(.long),
            isCut: true),
        Row(testDescription: "done, over APNs", report: .done(8), payload: event().payload(.short), isCut: true),
        Row(
            testDescription: "done at the event's time, over FCM", report: .done(7), payload: event().payload(.strings),
            isCut: true),
        Row(
            testDescription: "done at another time, over FCM", report: .done(8), payload: event().payload(.strings),
            isCut: false),
        Row(testDescription: "of this device's thing", payload: event(sender: "th.me").payload(.long), isCut: true),
        Row(testDescription: "of this device's user", payload: event(sender: "U-me").payload(.long), isCut: true),
        Row(testDescription: "of somebody else", payload: event(sender: "U-you").payload(.long), isCut: false),
        Row(
            testDescription: "of a thing with my user's id", payload: event(sender: "th.U-me").payload(.long),
            isCut: false),
        Row(testDescription: "a deletion", payload: event(event: .objectDeleted).payload(.long), isCut: true),
        Row(testDescription: "a second before the end", payload: event().payload(.long), after: 59, isCut: true),
        Row(testDescription: "at the end", payload: event().payload(.long), after: 60, isCut: false),
        Row(testDescription: "of another app", payload: anotherApps, isCut: false),
        Row(
            testDescription: "of another object",
            payload: PayloadFixture.pushToApp(object: "o-2", sender: nil).payload(.long), isCut: false),
        Row(
            testDescription: "of another bucket",
            payload: PayloadFixture.pushToApp(bucket: "b", sender: nil).payload(.long), isCut: false),
        Row(
            testDescription: "of another scope",
            payload: PayloadFixture.pushToApp(scope: .user(KiiUser(id: "U-me")), sender: nil).payload(.long),
            isCut: false),
        Row(
            testDescription: "of the bucket",
            payload: PayloadFixture.pushToApp(object: nil, sender: nil).payload(.long), isCut: false),
    ]

    private func makeGuard(_ layers: Set<LoopLayer> = [.echo]) -> LoopGuard {
        LoopGuard(
            me: [.thing(id: "th.me")], writesAs: [.user(id: "U-me")], settings: LoopSettings(layers: layers),
            clock: ManualClock())
    }

    @Test("the event of an announced write is cut, and no other; and it is cut once", arguments: rows)
    func row(row: Row) throws {
        let loopGuard = makeGuard()
        let write = loopGuard.announce(Self.object, nil)
        switch row.report {
        case .nothing: break
        case .done(let time): write.done(modifiedAt: time)
        case .failed: write.failed()
        }
        let now = MonotonicInstant.seconds(row.after)
        #expect(try loopGuard.judge(row.payload, at: now, app: "0123abcd") == (row.isCut ? "echo" : "pass"))
        if row.isCut {
            // What is reported after its event has come changes nothing.
            write.done(modifiedAt: 7)
            write.failed()
        }
        #expect(try loopGuard.judge(row.payload, at: now, app: "0123abcd") == "pass")
    }

    @Test("with the layer off nothing is cut")
    func off() throws {
        let loopGuard = makeGuard([])
        _ = loopGuard.announce(Self.object, nil)
        #expect(try loopGuard.judge(Self.event().payload(.long), at: .seconds(0)) == "pass")
    }

    @Test("two announcements cut two events, each its own where times are known")
    func two() throws {
        let loopGuard = makeGuard()
        loopGuard.announce(Self.object, nil).done(modifiedAt: 1)
        loopGuard.announce(Self.object, nil).done(modifiedAt: 2)
        func judge(_ time: Int64?) throws -> String {
            try loopGuard.judge(Self.event(modifiedAt: time).payload(.long), at: .seconds(0))
        }
        #expect(try judge(3) == "pass")
        #expect(try judge(2) == "echo")
        #expect(try judge(2) == "pass")
        #expect(try judge(nil) == "echo")
        #expect(try judge(1) == "pass")
    }

    @Test("an announcement of the very time is taken before one that may be meant")
    func exactFirst() throws {
        let loopGuard = makeGuard()
        _ = loopGuard.announce(Self.object, nil)
        loopGuard.announce(Self.object, nil).done(modifiedAt: 2)
        func judge(_ time: Int64) throws -> String {
            try loopGuard.judge(Self.event(modifiedAt: time).payload(.long), at: .seconds(0))
        }
        #expect(try judge(2) == "echo")
        #expect(try judge(2) == "echo")
        #expect(try judge(2) == "pass")
    }

    @Test("an object whose id the payload writes with escapes, or as a number, is the same object")
    func spelling() throws {
        let loopGuard = makeGuard()
        let text = Self.event().json(.long)
        let escaped = text.split(separator: #""o-1""#, maxSplits: 1).joined(separator: #""o\u002d1""#)
        let number = text.split(separator: #""o-1""#, maxSplits: 1).joined(separator: "12345678901234567890")
        try #require(escaped != text && number != text)
        _ = loopGuard.announce(Self.object, nil)
        _ = loopGuard.announce(KiiObject(bucket: Self.object.bucket, id: "12345678901234567890"), nil)
        #expect(try loopGuard.judge(RawPayload(escaped), at: .seconds(0)) == "echo")
        #expect(try loopGuard.judge(RawPayload(number), at: .seconds(0)) == "echo")
    }

    @Test("an id that only looks the same is another object")
    func canonicalEquivalence() throws {
        let loopGuard = makeGuard()
        _ = loopGuard.announce(KiiObject(bucket: Self.object.bucket, id: "e\u{301}"), nil)
        let payload = PayloadFixture.pushToApp(object: "\u{e9}", sender: nil).payload(.long)
        #expect(try loopGuard.judge(payload, at: .seconds(0)) == "pass")
    }

    @Test("each of many writes of one object is remembered, up to ten thousand; beyond, the oldest is given up")
    func bound() throws {
        let loopGuard = makeGuard()
        let writes = (0...OwnWrites.limit).map { number in
            loopGuard.announce(KiiObject(bucket: Self.object.bucket, id: "o\(number)"), nil)
        }
        #expect(writes.count == 10_001)
        #expect(loopGuard.forgottenEarly == 1)
        func judge(_ number: Int) throws -> String {
            try loopGuard.judge(
                PayloadFixture.pushToApp(object: "o\(number)", sender: nil).payload(.long), at: .seconds(0))
        }
        #expect(try judge(0) == "pass")
        for number in [1, 2, 5000, 10_000] { #expect(try judge(number) == "echo") }
    }

    @Test("writes whose time is over make room for others, and are not counted as given up")
    func expiry() throws {
        let clock = ManualClock()
        let loopGuard = LoopGuard(clock: clock)
        for number in 0..<30_000 {
            _ = loopGuard.announce(KiiObject(bucket: Self.object.bucket, id: "o\(number)"), nil)
            clock.advance(by: .milliseconds(10))
        }
        #expect(loopGuard.forgottenEarly == 0)
    }
}
