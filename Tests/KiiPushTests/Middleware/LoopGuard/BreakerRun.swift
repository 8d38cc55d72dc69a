import KiiPushTesting

@testable import KiiPush

/// One breaker on a clock of its own, what comes from outside, and what handling causes; handlers take no time.
struct BreakerRun {
    /// What each handled message causes: so many others, after so long.
    struct Answers {
        var count = 1
        var after: Int64
        /// Nothing that is handled later causes anything.
        var until: Int64 = .max
        /// Whether what comes from outside causes them, too.
        var answersOutside = true
    }

    private let limit: RateLimit
    private let answers: Answers?
    /// The time that the device needs to take in one answer; they queue for that.
    private let intake: Int64
    private var waiting: [Int64] = []
    /// Until when the device takes in what came.
    private var isTaking: Int64 = 0
    private var behindSince: Int64?
    private var owner = PushReceiver {}
    private var arrivedAt: [UInt64: (time: Int64, isOutside: Bool)] = [:]
    private var lastHeld: UInt64 = 0

    /// How many messages the breaker may hold, and how many it had no place for; these are handled at once.
    var most = Int.max
    private(set) var refused = 0

    var breaker: Breaker
    /// What else the device handled.
    var others = TimeBins(0)
    private(set) var now: Int64 = 0
    /// When each message was handled that came from outside, and how late that was, in the order of handling.
    private(set) var outside: [(time: Int64, late: Int64)] = []
    /// When each one was handled that handling had caused.
    private(set) var caused: [Int64] = []
    /// For how long it waited after each loop.
    private(set) var waits: [Int64] = []

    init(_ rate: LoopRate = .standard, answers: Answers? = nil, intake: Int64 = 0) {
        limit = RateLimits(rate).narrow
        self.answers = answers
        self.intake = intake
        breaker = Breaker(ResourceKey(0), limit)
    }

    /// The longest that a message from outside waited.
    var latest: Int64 { outside.map(\.late).max() ?? 0 }
    var handled: Int { outside.count + caused.count }

    /// Begins a loop with so many messages, which come now.
    mutating func beginLoop(_ count: Int) { waiting.append(contentsOf: repeatElement(now, count: count)) }

    /// Goes on until a time, with messages from outside at the given ones.
    mutating func run(_ arrivals: [Int64], until end: Int64, _ kind: Arrival.Kind = .new) throws {
        var next = 0
        while true {
            let arrival = next < arrivals.count ? arrivals[next] : .max
            let answer = waiting.first.map { max($0, isTaking) } ?? .max
            let due = breaker.due ?? .max
            let time = min(arrival, answer, max(due, now))
            guard time <= end else { break }
            now = max(now, time)
            if due <= now, due <= min(arrival, answer) {
                takeTurns()
            } else if arrival <= answer {
                next += 1
                try come(isOutside: true, kind)
            } else {
                behindSince = waiting.removeFirst() < isTaking ? behindSince ?? now : nil
                isTaking = now + intake
                let hasWaited = behindSince.map { now - $0 > .seconds(0.25) } ?? false
                try come(isOutside: false, hasWaited ? .waited : .new)
            }
        }
        now = max(now, end)
    }

    private mutating func come(isOutside: Bool, _ kind: Arrival.Kind = .new) throws {
        switch breaker.judge(Arrival(time: now, now: now, kind: kind), limit) {
        case .pass, .passTrusted: handle(now, isOutside)
        case .hold:
            guard breaker.promise(upTo: most) else {
                refused += 1
                return handle(now, isOutside)
            }
            lastHeld += 1
            arrivedAt[lastHeld] = (now, isOutside)
            breaker.hold(
                try HeldMessage(
                    id: lastHeld, RoutedMessage(PayloadFixture.pushToApp().payload(.long)), passed: 1, owner: owner))
        }
    }

    private mutating func takeTurns() {
        while let message = breaker.takeDue(now, others) {
            if let (time, isOutside) = arrivedAt.removeValue(forKey: message.id) { handle(time, isOutside) }
            breaker.turnEnded(now)
        }
        if case .waiting(let end) = breaker.phase, end > now, waits.last != breaker.backoff {
            waits.append(breaker.backoff)
        }
    }

    private mutating func handle(_ arrivedAt: Int64, _ isOutside: Bool) {
        if isOutside { outside.append((now, now - arrivedAt)) } else { caused.append(now) }
        guard let answers, now < answers.until, !isOutside || answers.answersOutside else { return }
        for _ in 0..<answers.count { waiting.append(now + answers.after) }
    }
}

extension Breaker {
    /// The message whose turn it is where nothing else was handled.
    mutating func takeDue(_ now: Int64) -> HeldMessage? { takeDue(now, TimeBins(0)) }
}

extension HeldMessage {
    /// A message of a receiver, with no stages to tell.
    convenience init(id: UInt64, _ routed: RoutedMessage, passed: Int, owner: PushReceiver) {
        self.init(
            id: id, routed, .passed(passed),
            receiver: ObjectIdentifier(owner), keeper: owner, settle: { _, _, _ in })
    }
}
