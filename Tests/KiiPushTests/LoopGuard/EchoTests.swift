import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

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
        let report: Report
        let payload: RawPayload
        /// How many seconds after the announcement the event comes.
        let after: Int64
        let isCut: Bool

        init(
            _ testDescription: String, _ report: Report = .nothing, _ fixture: PayloadFixture = EchoTests.event(),
            _ style: PayloadFixture.KeyStyle = .long, after: Int64 = 0, isCut: Bool
        ) {
            (self.testDescription, self.report, payload) = (testDescription, report, fixture.payload(style))
            (self.after, self.isCut) = (after, isCut)
        }
    }

    private static func event(sender: String? = nil, modifiedAt: Int64? = 7, event: KiiEvent = .objectUpdated)
        -> PayloadFixture
    {
        .pushToApp(event: event, sender: sender, modifiedAt: modifiedAt)
    }

    static let rows: [Row] = [
        Row("before it is done", isCut: true), Row("done, no time told", .done(nil), isCut: true),
        Row("done at the event's time", .done(7), isCut: true), Row("done at another time", .done(8), isCut: false),
        Row("failed", .failed, isCut: false),
        Row("done, and the event tells no time", .done(8), event(modifiedAt: nil), isCut: true),
        Row("done, over APNs", .done(8), event(), .short, isCut: true),
        Row("done at the event's time, over FCM", .done(7), event(), .strings, isCut: true),
        Row("done at another time, over FCM", .done(8), event(), .strings, isCut: false),
        Row("of this device's thing", .nothing, event(sender: "th.me"), isCut: true),
        Row("of this device's user", .nothing, event(sender: "U-me"), isCut: true),
        Row("of somebody else", .nothing, event(sender: "U-you"), isCut: false),
        Row("of a thing with my user's id", .nothing, event(sender: "th.U-me"), isCut: false),
        Row("a deletion", .nothing, event(event: .objectDeleted), isCut: false),
        Row("done, no time told, nine seconds later", .done(nil), after: 9, isCut: true),
        Row("done, no time told, ten seconds later", .done(nil), after: 10, isCut: false),
        Row("done, no time at all, ten seconds later", .done(nil), event(modifiedAt: nil), after: 10, isCut: false),
        Row("done, nine seconds later over APNs", .done(8), event(), .short, after: 9, isCut: true),
        Row("done, ten seconds later over APNs", .done(8), event(), .short, after: 10, isCut: false),
        Row("done at the event's time, a minute later", .done(7), after: 59, isCut: true),
        Row("a second before the end", after: 59, isCut: true), Row("at the end", after: 60, isCut: false),
        Row("of another app", .nothing, .pushToApp(sender: nil, app: "ffff0000"), isCut: false),
        Row("of another object", .nothing, .pushToApp(object: "o-2", sender: nil), isCut: false),
        Row("of another bucket", .nothing, .pushToApp(bucket: "b", sender: nil), isCut: false),
        Row("of another scope", .nothing, .pushToApp(scope: .user(KiiUser(id: "U-me")), sender: nil), isCut: false),
        Row("of the bucket", .nothing, .pushToApp(object: nil, sender: nil), isCut: false),
    ]

    private func makeGuard(_ layers: Set<LoopLayer> = [.echo]) -> LoopGuard {
        LoopGuard(
            me: [.thing(id: "th.me")], writesAs: [.user(id: "U-me")], settings: LoopSettings(layers: layers),
            clock: ManualClock())
    }

    @Test("drops the event of an announced write once, and no other event", arguments: rows)
    func row(row: Row) throws {
        let loopGuard = makeGuard()
        let write = loopGuard.announce(Self.object)
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

    /// Who this device says it is, what its handler reported, the sender of the event, and whether the event is
    /// dropped.
    static let strangers: [(me: [Sender], report: Int64?, sender: String, time: Int64?, isDropped: Bool)] = [
        ([], 7, "U-1", 7, true), ([], 7, "th.1", 7, true), ([], 7, "U-1", 8, false), ([], 7, "U-1", nil, false),
        ([], nil, "U-1", 7, true), ([], nil, "U-1", nil, true),
        ([.thing(id: "th.me")], 7, "U-1", 7, true), ([.thing(id: "th.me")], 7, "U-1", 8, false),
        ([.thing(id: "th.me")], nil, "U-1", 7, false), ([.user(id: "U-2")], 7, "U-1", 7, true),
    ]

    @Test(
        "an event with exactly the time of a declared write is that write's, whoever this device is",
        arguments: strangers, [true, false])
    func whoever(
        row: (me: [Sender], report: Int64?, sender: String, time: Int64?, isDropped: Bool), isShared: Bool
    ) throws {
        let loopGuard = LoopGuard(
            me: isShared ? [] : row.me, writesAs: isShared ? row.me : [], settings: LoopSettings(layers: [.echo]),
            clock: ManualClock())
        let write = loopGuard.announce(Self.object)
        // While the write is under way, nothing proves that a sender's event is its own.
        let early = Self.event(sender: row.sender, modifiedAt: 6).payload(.long)
        #expect(try loopGuard.judge(early) == "pass")
        write.done(modifiedAt: row.report)
        let event = Self.event(sender: row.sender, modifiedAt: row.time).payload(.long)
        #expect(try loopGuard.judge(event, at: .seconds(1)) == (row.isDropped ? "echo" : "pass"))
        #expect(try loopGuard.judge(event, at: .seconds(2)) == "pass")
    }

    @Test("a handler that writes the object it was called for handles one message, with and without identities")
    func closedLoop() async {
        for me in [[], [.thing(id: "th.1")], [.user(id: "U-other")]] as [[Sender]] {
            let receiver = PushReceiver(app: "0123abcd", me: me, clock: ManualClock())
            receiver.onPushToApp(id: "r", bucket: "settings", object: "*") { event, context in
                let time = (event.message.modifiedAt ?? 0) + 1
                try context.willWrite(event.object).done(modifiedAt: time)
            }
            var outcomes: [String] = []
            for time in 1...3 as ClosedRange<Int64> {
                let event = PayloadFixture.pushToApp(sender: "U-1", sentAt: time, modifiedAt: time)
                outcomes.append(await receiver.receive(event.payload(.long)).description)
            }
            // The second one is the event of the first one's write; nothing was written for it, so the third is new.
            #expect(outcomes == ["handled", "looped (echo)", "handled"])
        }
    }

    @Test("two announcements drop two events, matched by time if known")
    func two() throws {
        let loopGuard = makeGuard()
        loopGuard.announce(Self.object).done(modifiedAt: 1)
        loopGuard.announce(Self.object).done(modifiedAt: 2)
        func judge(_ time: Int64?) throws -> String { try loopGuard.judge(Self.event(modifiedAt: time).payload(.long)) }
        #expect(try judge(0) == "pass")
        #expect(try judge(2) == "echo")
        #expect(try judge(2) == "pass")
        // The later event shows that the first write's may be lost, so one without a time is not taken for it.
        #expect(try judge(nil) == "pass")
        #expect(try judge(1) == "echo")
        #expect(try judge(1) == "pass")
        // One whose time is the event's is taken before one whose time nobody knows yet.
        _ = loopGuard.announce(Self.object)
        loopGuard.announce(Self.object).done(modifiedAt: 4)
        #expect(try [judge(4), judge(4), judge(4)] == ["echo", "echo", "pass"])
    }

    // MARK: Others' events

    static let types: [(name: String?, change: ObjectChange?)] = [
        ("DATA_OBJECT_CREATED", .fields), ("DATA_OBJECT_UPDATED", .fields), (nil, .fields),
        ("DATA_OBJECT_DELETED", .deletion), ("DATA_OBJECT_BODY_UPDATED", .body), ("DATA_OBJECT_BODY_UPDATE", .body),
        ("DATA_OBJECT_BODY_DELETED", .body), ("DATA_OBJECT_ACL_MODIFIED", .permissions), ("BUCKET_DELETED", nil),
        ("DATA_OBJECT_UPDATED2", nil), ("data_object_updated", nil), ("DATA_OBJECT_", nil),
    ]

    @Test("matches only events of the announced kind of change", arguments: types, PayloadFixture.KeyStyle.allCases)
    func kinds(type: (name: String?, change: ObjectChange?), style: PayloadFixture.KeyStyle) throws {
        for announced in ObjectChange.allCases {
            let loopGuard = makeGuard()
            let write = loopGuard.announce(Self.object, announced)
            var fixture = Self.event(modifiedAt: 500)
            fixture.fields[.type] = type.name
            let expected = announced == type.change ? "echo" : "pass"
            #expect(try loopGuard.judge(fixture.payload(style)) == expected, "in flight, \(announced)")
            write.done(modifiedAt: 500)
            let next = loopGuard.announce(Self.object, announced)
            next.done(modifiedAt: 500)
            #expect(try loopGuard.judge(fixture.payload(style), at: .seconds(1)) == expected, "done, \(announced)")
        }
    }

    @Test("handles another's deletion and change of rights, and drops the own event")
    func foreignKinds() async {
        for style in [PayloadFixture.KeyStyle.short, .long] {
            let receiver = PushReceiver(writesAs: [.user(id: "U-me")], clock: ManualClock())
            receiver.onPushToApp(id: "r", bucket: "settings", object: "*") { event, context in
                if event.message.sentAt == 1 { try context.willWrite(event.object).done(modifiedAt: 500) }
            }
            func receive(_ event: KiiEvent, at time: Int64, modifiedAt: Int64) async -> String {
                let fixture = PayloadFixture.pushToApp(
                    event: event, sender: "U-me", sentAt: time, modifiedAt: modifiedAt)
                return await receiver.receive(fixture.payload(style)).description
            }
            #expect(await receive(.objectUpdated, at: 1, modifiedAt: 400) == "handled")
            #expect(await receive(.objectDeleted, at: 2, modifiedAt: 500) == "handled")
            #expect(await receive(.objectACLModified, at: 3, modifiedAt: 500) == "handled")
            #expect(await receive(.objectUpdated, at: 4, modifiedAt: 500) == "looped (echo)")
            #expect(await receive(.objectUpdated, at: 5, modifiedAt: 600) == "handled")
        }
    }

    @Test("when a write's own event is lost, a later change by somebody else is handled")
    func lost() throws {
        for sender in [nil, "U-me", "U-you"] {
            let loopGuard = makeGuard()
            loopGuard.announce(Self.object).done(modifiedAt: 500)
            func judge(_ time: Int64?, _ seconds: Int64, _ style: PayloadFixture.KeyStyle = .long) throws -> String {
                let event = Self.event(sender: sender, modifiedAt: time)
                return try loopGuard.judge(event.payload(style), at: .seconds(seconds))
            }
            #expect(try judge(400, 1) == "pass")
            #expect(try judge(59_500, 2) == "pass")
            // The object has changed since: what tells no time is not taken for the write's event any more.
            #expect(try judge(nil, 3) == "pass")
            #expect(try judge(60_000, 3, .short) == "pass")
            // But its own event may have been overtaken on its way.
            #expect(try judge(500, 59) == "echo")
        }
    }

    @Test("an event dropped during a write that was not its own leaves the write's own event to be dropped")
    func takenTooEarly() throws {
        for reported in [nil, 7, 8] as [Int64?] {
            let loopGuard = makeGuard()
            let write = loopGuard.announce(Self.object)
            #expect(try loopGuard.judge(Self.event(modifiedAt: 7).payload(.long)) == "echo")
            // One write has one event.
            #expect(try loopGuard.judge(Self.event(modifiedAt: 9).payload(.long)) == "pass")
            write.done(modifiedAt: reported)
            #expect(try loopGuard.judge(Self.event(modifiedAt: nil).payload(.long)) == "pass")
            let own = try loopGuard.judge(Self.event(modifiedAt: 8).payload(.long), at: .seconds(1))
            #expect(own == (reported == 8 ? "echo" : "pass"))
            #expect(try loopGuard.judge(Self.event(modifiedAt: 8).payload(.long), at: .seconds(1)) == "pass")
        }
    }

    @Test("the event of a new object that had waited since it was made is dropped, and one from before is not")
    func creation() async throws {
        let clock = ManualClock()
        let loopGuard = LoopGuard(clock: clock)
        clock.advance(by: .seconds(5))
        let creation = OwnCreation(loopGuard: loopGuard, bucket: Self.object.bucket, since: clock.now)
        clock.advance(by: .seconds(2))
        creation.done(id: "o-1", modifiedAt: 7)
        let payload = Self.event(event: .objectCreated).payload(.long)
        #expect(try loopGuard.judge(payload, at: .seconds(4)) == "pass")
        #expect(try loopGuard.judge(payload, at: .seconds(6)) == "echo")
    }

    @Test("a deletion is announced as a deletion")
    func deletion() async {
        let receiver = PushReceiver(clock: ManualClock())
        receiver.onPushToApp(id: "r", bucket: "settings", object: "*") { event, context in
            if event.type == .objectUpdated { try context.willWrite(event.object, changing: .deletion).done() }
        }
        func receive(_ event: KiiEvent) async -> String {
            await receiver.receive(PayloadFixture.pushToApp(event: event).payload(.short)).description
        }
        #expect(await receive(.objectUpdated) == "handled")
        #expect(await receive(.objectCreated) == "handled")
        #expect(await receive(.objectDeleted) == "looped (echo)")
    }

    @Test("an id that is written with escapes, or as a number, is the same one; one that only looks the same is not")
    func spelling() throws {
        let loopGuard = makeGuard()
        let text = Self.event().json(.long)
        let escaped = text.split(separator: #""o-1""#, maxSplits: 1).joined(separator: #""o\u002d1""#)
        let number = text.split(separator: #""o-1""#, maxSplits: 1).joined(separator: "12345678901234567890")
        try #require(escaped != text && number != text)
        _ = loopGuard.announce(Self.object)
        _ = loopGuard.announce(KiiObject(bucket: Self.object.bucket, id: "12345678901234567890"))
        #expect(try loopGuard.judge(RawPayload(escaped)) == "echo")
        #expect(try loopGuard.judge(RawPayload(number)) == "echo")
        _ = loopGuard.announce(KiiObject(bucket: Self.object.bucket, id: "e\u{301}"))
        #expect(try loopGuard.judge(PayloadFixture.pushToApp(object: "\u{E9}", sender: nil).payload(.long)) == "pass")
    }

    @Test("each of many writes of one object is remembered, up to ten thousand; beyond, the oldest is given up")
    func bound() throws {
        let loopGuard = makeGuard()
        let writes = (0...OwnWrites.limit).map { number in
            loopGuard.announce(KiiObject(bucket: Self.object.bucket, id: "o\(number)"))
        }
        #expect(writes.count == 10_001)
        func judge(_ number: Int) throws -> String {
            try loopGuard.judge(PayloadFixture.pushToApp(object: "o\(number)", sender: nil).payload(.long))
        }
        #expect(try judge(0) == "pass")
        for number in [1, 2, 5000, 10_000] { #expect(try judge(number) == "echo") }
    }

    @Test("an event that came in time is the write's own, however long it waited for its handler")
    func judgedLate() throws {
        let clock = ManualClock()
        let loopGuard = LoopGuard(clock: clock)
        loopGuard.announce(Self.object).done(modifiedAt: 8)
        let payload = Self.event(modifiedAt: 8).payload(.long).arrived(at: .seconds(1))
        var message = try RoutedMessage(payload, routes: [Route("r")])
        clock.advance(by: .seconds(1800))
        message.admittedAt = clock.now
        #expect(loopGuard.admit(&message) == .drop(.looped(.echo)))
        #expect(try loopGuard.judge(Self.event(modifiedAt: 8).payload(.long), at: clock.now) == "pass")
    }

    @Test("ended writes make room for others, although an older one waits")
    func ended() throws {
        let loopGuard = makeGuard()
        _ = loopGuard.announce(KiiObject(bucket: Self.object.bucket, id: "first"))
        for number in 0..<50_000 {
            loopGuard.announce(KiiObject(bucket: Self.object.bucket, id: "o\(number)")).failed()
        }
        let event = PayloadFixture.pushToApp(object: "first", sender: nil).payload(.long)
        #expect(try loopGuard.judge(event) == "echo")
    }
}
