import KiiPush
import KiiPushTesting
import Synchronization

/// A clock that shows what the simulation sets.
final class SetClock: ReceiverClock {
    private let nanoseconds = Atomic<Int64>(0)

    var now: MonotonicInstant { MonotonicInstant(nanoseconds: nanoseconds.load(ordering: .relaxed)) }

    func set(_ seconds: Double) { nanoseconds.store(Int64((seconds * 1e9).rounded()), ordering: .relaxed) }

    func sleep(until instant: MonotonicInstant) async throws { fatalError("nobody sleeps in the simulation") }
}

/// The clocks of a device, whose wall clock is ahead by so many seconds.
final class DeviceClock: ReceiverClock {
    private let clock: SetClock
    private let ahead: Double

    init(_ clock: SetClock, ahead: Double) { (self.clock, self.ahead) = (clock, ahead) }

    var now: MonotonicInstant { clock.now }
    var wallNow: Int64? { now.nanoseconds / 1_000_000 + Int64(ahead * 1000) }

    func sleep(until instant: MonotonicInstant) async throws { try await clock.sleep(until: instant) }
}

/// What messages are about.
enum Subject {
    case object, letter
    /// An object of another bucket, with a route of its own.
    case ownRoute
    /// A push without a place, so that each has a lane of its own.
    case command

    static let routes = 500

    func payload(_ key: Int, _ number: Int) -> RawPayload {
        let time = 1_700_000_000_000 + Int64(number)
        let bucket = self == .ownRoute ? "b\(abs(key) % Self.routes)" : "b"
        return switch self {
        case .object, .ownRoute:
            PayloadFixture.pushToApp(bucket: bucket, object: "o\(key)", sentAt: time, modifiedAt: time).payload(.long)
        case .letter: PayloadFixture.pushToUser(topic: "t\(key)", sender: "U\(key)", sentAt: time).payload(.long)
        case .command:
            PayloadFixture.directPush(recipient: nil, data: [("number", .number("\(number)"))]).payload(.long)
        }
    }
}

/// A device with a real loop guard, and the lanes of a service before it.
final class Device {
    /// What waits in a lane.
    private struct Waiting {
        var message: RoutedMessage
        let came: Double
        let isHonest: Bool
        /// Whether it was told to ask again.
        var isPaced = false
    }

    private final class Lane {
        var waiting: [Waiting] = []
        /// Those before it have ended.
        var head = 0
        /// What the first replaces, if it is handled.
        var replaced: [Waiting] = []
        /// Whether the first asks again later.
        var isTold = false

        func removeFirst() {
            head += 1
            guard head > 64, head * 2 > waiting.count else { return }
            waiting.removeFirst(head)
            head = 0
        }
    }

    private let receiver: PushReceiver
    private let loopGuard = LoopGuard()
    private var lanes: [Int: Lane] = [:]
    private var waiting = 0
    /// How many wait at most, as in a service; what comes beyond that is heard, and forgotten.
    private let places: Int
    /// When messages were handled.
    private(set) var handled: [Double] = []
    /// How many honest ones have ended, how late the latest ended, and how many were superseded.
    private(set) var (honest, latest, superseded) = (0, 0.0, 0)

    /// Makes a device whose routes all get each message, or with a route for each bucket.
    init(_ clock: DeviceClock, _ subject: Subject, routes: Int, places: Int) {
        let loopGuard = loopGuard
        receiver = PushReceiver(clock: clock) { loopGuard }
        self.places = places
        if subject == .ownRoute {
            for route in 0..<Subject.routes { receiver.onPushToApp(bucket: .exactly("b\(route)")) { _, _ in } }
        } else {
            for route in 0..<routes { receiver.onAny(id: "r\(route)", options: .continue) { _, _ in } }
        }
    }

    /// Messages arrive; returns when their lane is asked again.
    func arrive(_ message: PushMessage, _ event: Event) -> Double? {
        let lane = lanes[event.key] ?? Lane()
        var again: Double?
        for _ in 0..<event.count {
            var (routed, _) = receiver.prepare(message)
            loopGuard.hear(&routed)
            if waiting >= places {
                loopGuard.forget(routed)
                continue
            }
            waiting += 1
            lanes[event.key] = lane
            lane.waiting.append(Waiting(message: routed, came: event.time, isHonest: event.isHonest))
            if !lane.isTold { again = askAgain(event.key, event.time) }
        }
        return again
    }

    /// Asks for the first of a lane until it has to wait, as a service does; returns when it is asked again.
    func askAgain(_ key: Int, _ now: Double) -> Double? {
        guard let lane = lanes[key] else { return nil }
        lane.isTold = false
        while lane.head < lane.waiting.count {
            prepareFirst(lane)
            switch loopGuard.admit(&lane.waiting[lane.head].message) {
            case .pass:
                handled.append(now)
                end(lane, now)
            case .later(let until):
                precondition(until > lane.waiting[lane.head].message.admittedAt, "a wait that is none")
                (lane.waiting[lane.head].isPaced, lane.isTold) = (true, true)
                return Double(until.nanoseconds) / 1e9
            default: end(lane, now, isSuperseded: true)
            }
        }
        lanes[key] = nil
        return nil
    }

    /// Lets the newest change take the place of older ones, if the guard says so.
    private func prepareFirst(_ lane: Lane) {
        let now = receiver.clock.now
        lane.waiting[lane.head].message.admittedAt = now
        let first = lane.waiting[lane.head]
        guard first.isPaced, lane.waiting.count - lane.head > 1, loopGuard.takesNewest(first.message) else { return }
        let older = lane.waiting[lane.head..<lane.waiting.count - 1]
        lane.replaced += older
        lane.head += older.count
        lane.waiting[lane.head].message.admittedAt = now
    }

    /// Ends the first of a lane, and what it replaces.
    private func end(_ lane: Lane, _ now: Double, isSuperseded: Bool = false) {
        for var older in lane.replaced {
            older.message.bypass = .superseded
            _ = loopGuard.admit(&older.message)
            count(older, now, isSuperseded: true)
        }
        lane.replaced = []
        count(lane.waiting[lane.head], now, isSuperseded: isSuperseded)
        lane.removeFirst()
    }

    private func count(_ ended: Waiting, _ now: Double, isSuperseded: Bool) {
        waiting -= 1
        guard ended.isHonest else { return }
        honest += 1
        latest = max(latest, now - ended.came)
        if isSuperseded { superseded += 1 }
    }

    /// The most that was handled in any hour, less five quarters of what came by itself in it.
    func busiest(beside came: [Double]) -> Double {
        var (from, first, last, most) = (0, 0, 0, 0.0)
        for (index, time) in handled.enumerated() {
            while handled[from] < time - 3600 { from += 1 }
            while first < came.count, came[first] < time - 3600 { first += 1 }
            while last < came.count, came[last] <= time { last += 1 }
            most = max(most, Double(index - from + 1) - Double(last - first) * 1.25)
        }
        return most
    }
}
