import KiiPushTesting
import Testing

@testable import KiiPush

/// The state machine alone: two messages in ten, a cool-down of sixty.
struct BreakerTests {
    enum Step {
        /// A message comes: `pass`, `passAsProbe` or `hold`, and what is held gets its place.
        case come(Int64, String)
        /// A message is told to wait, and has no place yet.
        case judged(Int64)
        /// A place is promised to it, and then it is put there.
        case promise
        case keep(Int64)
        /// The number of the message whose turn it is; the first one held is 1.
        case due(Int64, UInt64?)
        case ended(Int64)
        case takeBack
        /// All that is held is taken out, as by a kill.
        case clear
        case phase(Breaker.Phase)
        /// When there is something to do.
        case next(Int64?)
        /// Whether it could be forgotten.
        case idle(Int64, Bool)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]

        init(_ name: String, _ steps: [Step]) { (testDescription, self.steps) = (name, steps) }
    }

    /// Two pass, and the third opens it, at 2 until 62.
    private static let opened: [Step] = [
        .come(0, "pass"), .come(1, "pass"), .come(2, "hold"), .phase(.open(until: 62)),
    ]
    /// The probe has ended at 65, so it is quiet until 75.
    private static let quieted: [Step] = opened + [.due(62, 1), .ended(65), .phase(.quiet(until: 75, seen: 0))]
    /// As before, with two more that were held meanwhile, numbers 2 and 3; draining since 75.
    private static let draining: [Step] =
        opened + [
            .come(3, "hold"), .come(4, "hold"), .due(62, 1), .ended(65), .due(75, 2), .phase(.draining(isBusy: true)),
        ]

    static let rows: [Row] = [
        Row("closed while no more come than may", [.come(0, "pass"), .come(1, "pass"), .phase(.closed), .next(nil)]),
        Row(
            "at exactly the end of the span the first is out",
            [
                .come(0, "pass"), .come(1, "pass"), .come(10, "pass"), .come(10, "hold"), .phase(.open(until: 70)),
            ]),
        Row(
            "what was taken back makes room",
            [
                .come(0, "pass"), .come(1, "pass"), .takeBack, .come(2, "pass"), .come(3, "hold"),
            ]),
        Row(
            "open until its cool-down is over, then the oldest goes alone",
            opened + [
                .come(30, "hold"), .next(62), .due(61, nil), .due(62, 1), .phase(.probing(seen: 0)), .next(nil),
                .due(1000, nil), .phase(.probing(seen: 0)),
            ]),
        Row(
            "quiet after the probe, then as before",
            quieted + [
                .next(75), .due(74, nil), .due(75, nil), .phase(.closed), .come(75, "pass"), .come(75, "pass"),
                .come(75, "hold"),
            ]),
        Row("a message at the very end of the quiet time passes", quieted + [.come(75, "pass"), .phase(.closed)]),
        Row(
            "a message during the probe opens it again, for twice as long",
            opened + [
                .due(62, 1), .come(63, "hold"), .phase(.probing(seen: 1)), .ended(65), .phase(.open(until: 185)),
                .due(184, nil), .due(185, 2),
            ]),
        Row("a message in the quiet time too", quieted + [.come(74, "hold"), .phase(.open(until: 194))]),
        Row(
            "with nothing held, the next message is the probe",
            opened + [
                .clear, .next(nil), .due(62, nil), .come(62, "passAsProbe"), .phase(.probing(seen: 0)),
                .ended(63),
                .phase(.quiet(until: 73, seen: 0)),
            ]),
        Row(
            "with nothing held, a message in the cool-down waits",
            opened + [
                .clear, .come(61, "hold"), .next(62), .due(62, 2),
            ]),
        Row(
            "what was held follows in order, one at a time",
            draining + [
                .next(nil), .due(76, nil), .ended(76), .phase(.draining(isBusy: false)), .next(.min), .due(76, 3),
                .ended(77), .phase(.closed), .next(nil),
            ]),
        Row(
            "a message meanwhile queues behind, and counts",
            draining + [
                .come(76, "hold"), .come(77, "hold"), .phase(.draining(isBusy: true)), .ended(78), .due(78, 3),
                .ended(78),
                .due(78, 4), .ended(78), .due(78, 5), .ended(79), .phase(.closed), .come(80, "hold"),
                .phase(.open(until: 200)),
            ]),
        Row(
            "too many meanwhile open it again, for twice as long",
            draining + [
                .come(76, "hold"), .come(77, "hold"), .come(78, "hold"), .phase(.open(until: 198)), .ended(80),
                .phase(.open(until: 198)), .due(197, nil), .due(198, 3),
            ]),
        Row(
            "a promised place is waited for",
            opened + [
                .judged(3), .promise, .due(62, 1), .ended(65), .due(75, nil), .phase(.draining(isBusy: false)),
                .keep(76), .due(76, 2), .ended(77), .phase(.closed),
            ]),
        Row(
            "nobody probes in front of one with a promised place",
            opened + [
                .judged(3), .promise, .clear, .come(62, "hold"), .keep(63), .due(63, 2),
                .phase(.probing(seen: 0)),
            ]),
        Row(
            "one that gets its place when all the others are gone is due at once",
            draining + [
                .ended(76), .due(76, 3), .judged(77), .ended(78), .phase(.closed), .promise, .idle(10_000, false),
                .keep(79),
                .phase(.draining(isBusy: false)), .due(79, 4), .ended(80), .phase(.closed),
            ]),
        Row("killed while open", opened + [.clear, .phase(.open(until: 62)), .next(nil)]),
        Row(
            "killed while probing",
            opened + [
                .come(3, "hold"), .due(62, 1), .clear, .phase(.probing(seen: 0)), .ended(63),
                .phase(.quiet(until: 73, seen: 0)), .due(73, nil), .phase(.closed),
            ]),
        Row(
            "killed while quiet",
            opened + [
                .come(3, "hold"), .due(62, 1), .ended(65), .clear, .phase(.quiet(until: 75, seen: 0)), .due(75, nil),
                .phase(.closed),
            ]),
        Row("killed while one of several follows", draining + [.clear, .ended(76), .phase(.closed)]),
        Row("killed between two that follow", draining + [.ended(76), .clear, .due(76, nil), .phase(.closed)]),
        Row(
            "not to be forgotten before the passes are, nor the cool-down",
            [
                .come(0, "pass"), .idle(9, false), .idle(10, true),
            ]),
        Row("not to be forgotten while anything waits", opened + [.idle(1_000_000, false)]),
        Row(
            "open with nothing held, to be forgotten once its cool-down has been over for as long",
            opened + [
                .clear, .idle(62, false), .idle(121, false), .idle(122, true),
            ]),
        Row("quiet with nothing held, the same", quieted + [.idle(75, false), .idle(134, false), .idle(135, true)]),
        Row("closed after being open, the same", quieted + [.due(75, nil), .idle(134, false), .idle(135, true)]),
        Row(
            "not to be forgotten while its probe runs", opened + [.clear, .come(62, "passAsProbe"), .idle(.max, false)]),
        Row(
            "over the end of time",
            [
                .come(.max - 3, "pass"), .come(.max - 2, "pass"), .come(.max - 1, "hold"), .phase(.open(until: .max)),
                .due(.max - 1, nil), .due(.max, 1), .ended(.max), .phase(.quiet(until: .max, seen: 0)), .due(.max, nil),
                .phase(.closed),
            ]),
        Row(
            "from before the beginning of time",
            [
                .come(.min + 1, "pass"), .come(.min + 1, "pass"), .come(.min + 2, "hold"),
                .phase(.open(until: .min + 62)),
                .due(.max, 1), .ended(.max), .due(.max, nil), .come(.max, "pass"),
            ]),
        Row(
            "a clock set back holds no longer than it is back",
            opened + [
                .come(-1000, "hold"), .due(-1000, nil), .due(62, 1), .ended(-1000),
                .phase(.quiet(until: -990, seen: 0)),
            ]),
    ]

    @Test("each event leads to the phase that it should", arguments: rows)
    func steps(row: Row) throws {
        let rate = LoopRate(messages: 2, per: .nanoseconds(10), coolDown: .nanoseconds(60))
        let limit = Breaker.Limits(rate).narrow
        var breaker = Breaker(try key("o"), limit)
        var lastHeld: UInt64 = 0
        func makeHeld() throws -> HeldMessage {
            lastHeld += 1
            return try HeldMessage(
                id: lastHeld, RoutedMessage(PayloadFixture.pushToApp().payload(.long)), passed: 1,
                owner: PushReceiver {})
        }
        for (number, step) in row.steps.enumerated() {
            let comment: Comment = "step \(number)"
            switch step {
            case .come(let now, let expected):
                let answer = breaker.judge(now, limit)
                #expect("\(answer)" == expected, comment)
                if case .hold = answer {
                    _ = breaker.promise(upTo: 100)
                    breaker.hold(try makeHeld(), now)
                } else {
                    breaker.count(now, limit)
                }
            case .judged(let now):
                let answer = breaker.judge(now, limit)
                #expect("\(answer)" == "hold", comment)
            case .promise: _ = breaker.promise(upTo: 100)
            case .keep(let now): breaker.hold(try makeHeld(), now)
            case .due(let now, let expected):
                let due = breaker.takeDue(now)
                #expect(due?.id == expected, comment)
            case .ended(let now): breaker.turnEnded(now)
            case .takeBack: breaker.takeBack()
            case .clear: _ = breaker.removeHeld { _ in true }
            case .phase(let expected): #expect(breaker.phase == expected, comment)
            case .next(let expected): #expect(breaker.due == expected, comment)
            case .idle(let now, let expected):
                let isIdle = breaker.isIdle(now)
                #expect(isIdle == expected, comment)
            }
        }
    }

    @Test("the cool-down doubles with each probe that sees more, up to an hour, or as long as it is set")
    func doubling() throws {
        #expect(try coolDowns(from: 60, probes: 9) == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600])
        #expect(try coolDowns(from: 0, probes: 3) == [0, 0, 0])
        #expect(try coolDowns(from: 7200, probes: 3) == [7200, 7200, 7200])
        // 158 years: the end of time comes before the second one's.
        #expect(try coolDowns(from: 5_000_000_000, probes: 2) == [5_000_000_000, 4_223_372_036])
    }

    /// The cool-downs in seconds of a loop that goes on at each probe.
    private func coolDowns(from seconds: Int64, probes: Int) throws -> [Int64] {
        let limit = Breaker.Limits(LoopRate(messages: 1, coolDown: .seconds(seconds))).narrow
        var breaker = Breaker(try key("o"), limit)
        breaker.count(0, limit)
        _ = breaker.judge(0, limit)
        var now: Int64 = 0
        var all: [Int64] = []
        for _ in 0..<probes {
            guard case .open(let end) = breaker.phase else { break }
            all.append((end - now) / 1_000_000_000)
            now = end
            breaker.count(now, limit)
            _ = breaker.judge(now, limit)
            breaker.turnEnded(now)
        }
        return all
    }

    @Test(
        "it is forgotten how long it was open when it has been closed for as long", arguments: [(239, 480), (240, 60)])
    func reset(closedFor: Int64, coolDown: Int64) throws {
        let second: Int64 = 1_000_000_000
        let limit = Breaker.Limits(LoopRate(messages: 1, per: .seconds(1))).narrow
        var breaker = Breaker(try key("o"), limit)
        breaker.count(0, limit)
        var now: Int64 = 0
        for _ in 0..<3 {
            _ = breaker.judge(now, limit)
            guard case .open(let end) = breaker.phase else { return }
            now = end
            breaker.count(now, limit)
            breaker.turnEnded(now)
        }
        #expect(breaker.phase == .quiet(until: now + second, seen: 0))
        now += second
        _ = breaker.takeDue(now)
        #expect(breaker.phase == .closed)
        now += closedFor * second
        _ = breaker.judge(now, limit)
        breaker.count(now, limit)
        _ = breaker.judge(now, limit)
        #expect(breaker.phase == .open(until: now + coolDown * second))
    }

    private func key(_ id: String) throws -> PlaceKey {
        PlaceKey(KiiObject(bucket: KiiBucket(scope: .app, name: "settings"), id: id), .published)
    }
}
