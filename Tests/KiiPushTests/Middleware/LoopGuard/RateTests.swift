import KiiPushTesting
import Testing

@testable import KiiPush

struct RateTests {
    let clock = ManualClock()

    // MARK: Keys

    /// Two messages, and whether the second is held where one of a key passes.
    struct Pair: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let first: RawPayload
        let second: RawPayload
        let share: Bool

        init(
            _ name: String, _ first: PayloadFixture, _ second: PayloadFixture, _ share: Bool,
            styles: (PayloadFixture.KeyStyle, PayloadFixture.KeyStyle) = (.long, .long)
        ) {
            testDescription = name
            self.first = first.payload(styles.0)
            self.second = second.payload(styles.1)
            self.share = share
        }
    }

    private static let thing = KiiScope.thing(KiiThing(id: "x"))
    private static let user = KiiScope.user(KiiUser(id: "x"))

    static let pairs: [Pair] = [
        Pair("one object", .pushToApp(), .pushToApp(sentAt: 5, modifiedAt: 7), true),
        Pair("one object, other senders", .pushToApp(), .pushToApp(sender: "U-2"), true),
        Pair("one object, other events", .pushToApp(), .pushToApp(event: .objectDeleted), true),
        Pair("one object as MQTT and APNs bring it", .pushToApp(), .pushToApp(), true, styles: (.long, .short)),
        Pair("one object as FCM and APNs bring it", .pushToApp(), .pushToApp(), true, styles: (.strings, .short)),
        Pair("two objects", .pushToApp(), .pushToApp(object: "o-2"), false),
        Pair("two buckets", .pushToApp(), .pushToApp(bucket: "other"), false),
        Pair("the app's and a user's", .pushToApp(), .pushToApp(scope: user), false),
        Pair("a user's and a thing's of one id", .pushToApp(scope: user), .pushToApp(scope: thing), false),
        Pair("one bucket without an object", .pushToApp(object: nil), .pushToApp(object: nil, sentAt: 5), true),
        Pair(
            "the same of a sender and of nobody", .pushToApp(object: nil), .pushToApp(object: nil, sender: nil), false),
        Pair("a bucket and an object in it", .pushToApp(object: nil), .pushToApp(), false),
        Pair("two buckets without an object", .pushToApp(object: nil), .pushToApp(bucket: "b", object: nil), false),
        Pair("one topic, one sender", .pushToUser(), .pushToUser(sentAt: 9, data: []), true),
        Pair("one topic, two senders", .pushToUser(), .pushToUser(sender: "U-2"), false),
        Pair("one topic, a user and a thing", .pushToUser(sender: "x"), .pushToUser(sender: "th.x"), false),
        Pair("one topic, no sender", .pushToUser(sender: nil), .pushToUser(sender: nil), true),
        Pair("two topics", .pushToUser(), .pushToUser(topic: "other"), false),
        Pair(
            "a topic and a bucket of one name", .pushToUser(topic: "settings", sender: nil), .pushToApp(object: nil),
            false),
        Pair("two Direct Pushes of an admin", .directPush(), .directPush(recipient: "U-2"), true),
        Pair("two Direct Pushes of nobody", .directPush(recipient: nil), .directPush(recipient: nil), true),
        Pair("a Direct Push of an admin and one of nobody", .directPush(), .directPush(recipient: nil), false),
    ]

    @Test("messages of one object, of one topic and sender, or of one conversation count together", arguments: pairs)
    func keys(pair: Pair) throws {
        let loopGuard = LoopGuard(settings: LoopSettings(rate: LoopRate(messages: 1)), clock: clock)
        #expect(try loopGuard.judge(pair.first, at: clock.now) == "pass")
        #expect(try loopGuard.judge(pair.second, at: clock.now) == (pair.share ? "held" : "pass"))
    }

    @Test("an id that is written with escapes is the same id")
    func escapes() throws {
        let loopGuard = LoopGuard(settings: LoopSettings(rate: LoopRate(messages: 1)), clock: clock)
        let text = PayloadFixture.pushToApp().json(.long)
        let escaped = text.split(separator: #""o-1""#, maxSplits: 1).joined(separator: #""o\u002d1""#)
        try #require(escaped != text)
        #expect(try loopGuard.judge(RawPayload(text), at: clock.now) == "pass")
        #expect(try loopGuard.judge(RawPayload(escaped), at: clock.now) == "held")
    }

    @Test("each route counts for itself, at its own rate")
    func routes() throws {
        let loopGuard = LoopGuard(settings: LoopSettings(rate: LoopRate(messages: 2)), clock: clock)
        let routes = [
            Route("guards", flow: .continue),
            Route("own", flow: .continue, loop: RouteLoopPolicy(rate: .own(LoopRate(messages: 1)))),
            Route("unlimited", loop: RouteLoopPolicy(rate: .unlimited)),
        ]
        var passed: [[String]] = []
        for _ in 0..<3 {
            var message = try RoutedMessage(PayloadFixture.pushToApp().payload(.long), routes: routes)
            #expect(loopGuard.admit(&message) == .pass)
            passed.append(message.routes.ids)
        }
        #expect(passed == [["guards", "own", "unlimited"], ["guards", "unlimited"], ["unlimited"]])
    }

    // MARK: Limits

    @Test("twenty pass in ten seconds, 22 in half a minute, and the next is held; at a slower pace all pass")
    func standard() throws {
        let payload = PayloadFixture.pushToApp().payload(.long)
        let loopGuard = LoopGuard(clock: clock)
        for _ in 0..<20 { #expect(try loopGuard.judge(payload, at: clock.now) == "pass") }
        #expect(try loopGuard.judge(payload, at: clock.now) == "held")
        let sustained = PayloadFixture.pushToApp(object: "sustained").payload(.long)
        for _ in 0..<22 {
            #expect(try loopGuard.judge(sustained, at: clock.now) == "pass")
            clock.advance(by: .seconds(1))
        }
        #expect(try loopGuard.judge(sustained, at: clock.now) == "held")
        let other = PayloadFixture.pushToApp(object: "slow").payload(.long)
        for _ in 0..<100 {
            #expect(try loopGuard.judge(other, at: clock.now) == "pass")
            clock.advance(by: .milliseconds(1400))
        }
    }

    @Test("of new objects as many pass as a bucket may have, of new buckets as a route, of new routes as the device")
    func levels() throws {
        let loopGuard = LoopGuard(clock: clock)
        var number = 0
        func judge(bucket: String, route: Route) throws -> String {
            number += 1
            let payload = PayloadFixture.pushToApp(bucket: bucket, object: "o\(number)").payload(.long)
            return try loopGuard.judge(payload, at: clock.now, routes: [route])
        }
        let (first, second, third) = (Route("first"), Route("second"), Route("third"))
        for _ in 0..<200 { #expect(try judge(bucket: "b", route: first) == "pass") }
        #expect(try judge(bucket: "b", route: first) == "held")
        for bucket in 0..<200 { #expect(try judge(bucket: "b\(bucket)", route: first) == "pass") }
        #expect(try judge(bucket: "other", route: first) == "held", "400 of one route")
        for bucket in 0..<400 { #expect(try judge(bucket: "b\(bucket)", route: second) == "pass") }
        #expect(try judge(bucket: "other", route: third) == "held", "800 of all")
        #expect(BreakerLevel.allCases.filter { level in loopGuard.trippedLevels.contains(level) }.count == 3)
    }

    @Test(
        "a new object each time is ended by the bucket's own breaker, at a hundred times as many in sixty times as long"
    )
    func wide() throws {
        let rate = LoopRate(messages: 2, window: .seconds(1))
        #expect(rate.ofBucket == LoopRate.Limit(messages: 200, window: .seconds(60)))
        let loopGuard = LoopGuard(settings: LoopSettings(rate: rate), clock: clock)
        func judge(_ number: Int) throws -> String {
            try loopGuard.judge(PayloadFixture.pushToApp(object: "o\(number)").payload(.long), at: clock.now)
        }
        for number in 0..<200 {
            #expect(try judge(number) == "pass")
            clock.advance(by: .milliseconds(299))
        }
        #expect(try judge(200) == "held")
        // It is this bucket's alone.
        #expect(try loopGuard.judge(PayloadFixture.pushToApp(bucket: "other").payload(.long), at: clock.now) == "pass")
        #expect(try loopGuard.judge(PayloadFixture.pushToUser().payload(.long), at: clock.now) == "pass")
    }

    @Test("at a pace below it, a new object each time passes for as long as it likes")
    func belowWide() throws {
        let loopGuard = LoopGuard(
            settings: LoopSettings(rate: LoopRate(messages: 2, window: .seconds(1))), clock: clock)
        for number in 0..<1000 {
            let payload = PayloadFixture.pushToApp(object: "o\(number)").payload(.long)
            #expect(try loopGuard.judge(payload, at: clock.now) == "pass")
            clock.advance(by: .milliseconds(301))
        }
    }

    @Test("a message without a bucket or topic is counted by its sender, its route and the device")
    func noWide() throws {
        let loopGuard = LoopGuard(settings: LoopSettings(rate: LoopRate(messages: 1)), clock: clock)
        let payload = PayloadFixture.directPush().payload(.long)
        for _ in 0..<200 {
            #expect(try loopGuard.judge(payload, at: clock.now) == "pass")
            clock.advance(by: .seconds(10))
        }
        #expect(try loopGuard.judge(payload, at: clock.now) == "pass")
        #expect(try loopGuard.judge(payload, at: clock.now) == "held")
    }

    @Test(
        "numbers that make no sense hold everything or nothing, and never trap",
        arguments: [
            (LoopRate(messages: .max, window: .seconds(Int64.max), coolDown: .seconds(Int64.max)), "pass"),
            (LoopRate(messages: 1, window: .seconds(Int64.max), coolDown: .seconds(Int64.max)), "held"),
            (LoopRate(messages: .min, window: .seconds(Int64.max), coolDown: .seconds(-1)), "held"),
            (LoopRate(messages: 1, window: .seconds(-1)), "pass"), (LoopRate(messages: 1, window: .zero), "pass"),
        ])
    func extremes(rate: LoopRate, second: String) throws {
        let loopGuard = LoopGuard(settings: LoopSettings(rate: rate), clock: clock)
        let payload = PayloadFixture.pushToApp().payload(.long)
        #expect(try loopGuard.judge(payload, at: clock.now) == "pass")
        #expect(try loopGuard.judge(payload, at: clock.now) == second)
        clock.advance(by: .seconds(Int64.max))
        _ = try loopGuard.judge(payload, at: clock.now)
        #expect(rate.ofDevice.window >= rate.window || rate.window > .seconds(1_000_000_000))
    }

    @Test("numbers set after the fact to none or fewer count as one", arguments: [0, -1, Int.min])
    func noMessages(messages: Int) throws {
        var rate = LoopRate.standard
        rate.messages = messages
        let loopGuard = LoopGuard(settings: LoopSettings(rate: rate), clock: clock)
        for answer in ["pass", "held"] {
            #expect(try loopGuard.judge(PayloadFixture.pushToApp().payload(.long), at: clock.now) == answer)
        }
    }

    @Test("a change of the rate counts from the next message on, and forgets nothing")
    func changed() throws {
        let loopGuard = LoopGuard(settings: LoopSettings(rate: LoopRate(messages: 3)), clock: clock)
        let payload = PayloadFixture.pushToApp().payload(.long)
        for _ in 0..<2 { #expect(try loopGuard.judge(payload, at: clock.now) == "pass") }
        loopGuard.settings.rate.messages = 1000
        for _ in 0..<10 { #expect(try loopGuard.judge(payload, at: clock.now) == "pass") }
        loopGuard.settings.rate.messages = 12
        #expect(try loopGuard.judge(payload, at: clock.now) == "held")
    }

    @Test("what the handlers did not handle does not count")
    func takenBack() throws {
        let loopGuard = LoopGuard(settings: LoopSettings(rate: LoopRate(messages: 1)), clock: clock)
        let payload = PayloadFixture.pushToApp().payload(.long)
        let failure = Outcome.Failure(place: "dedupe", isStage: true, error: TestError(), handled: MatchedRoutes())
        for outcome in [Outcome.failed(failure), .refused(.scope), .unrouted(.noRoute), .failed(failure)] {
            var message = try RoutedMessage(payload, routes: [Route("r")])
            #expect(loopGuard.admit(&message) == .pass)
            #expect(message.routes.ids == ["r"])
            loopGuard.settle(message, outcome)
        }
        var message = try RoutedMessage(payload, routes: [Route("r")])
        #expect(loopGuard.admit(&message) == .pass)
        // The handler ran, and what it wanted to write was refused: it may do so for ever, and all the while others
        // run.
        loopGuard.settle(message, .looped(.ownBucket))
        #expect(try loopGuard.judge(payload, at: clock.now) == "held")
    }

    @Test("a handler that fails may have written before: its message counts")
    func failedHandler() throws {
        let loopGuard = LoopGuard(settings: LoopSettings(rate: LoopRate(messages: 1)), clock: clock)
        let payload = PayloadFixture.pushToApp().payload(.long)
        let failure = Outcome.Failure(place: "r", isStage: false, error: TestError(), handled: MatchedRoutes())
        var message = try RoutedMessage(payload, routes: [Route("r")])
        #expect(loopGuard.admit(&message) == .pass)
        loopGuard.settle(message, .failed(failure))
        #expect(try loopGuard.judge(payload, at: clock.now) == "held")
    }

    @Test("a message that fails takes nothing back of a route that was killed and never got it")
    func killedRoute() throws {
        let loopGuard = LoopGuard(settings: LoopSettings(rate: LoopRate(messages: 2)), clock: clock)
        let payload = PayloadFixture.pushToApp().payload(.long)
        for _ in 0..<2 { #expect(try loopGuard.judge(payload, at: clock.now) == "pass") }
        loopGuard.kill(.route("r"), for: .seconds(5))
        for _ in 0..<2 {
            var message = try RoutedMessage(payload, at: 1, routes: [Route("r")])
            #expect(loopGuard.admit(&message) == .pass)
            loopGuard.settle(message, .looped(.killSwitch))
        }
        loopGuard.revive(.route("r"))
        #expect(try loopGuard.judge(payload, at: .seconds(2)) == "held")
    }
}
