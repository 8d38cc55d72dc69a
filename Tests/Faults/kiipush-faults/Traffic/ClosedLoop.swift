/// A loop: each message that is handled causes the next ones, after a round trip.
struct ClosedLoop: Sendable {
    /// What one push of the loop differs in from the one before.
    enum Shape: String, CaseIterable, Sendable {
        case sameObject = "same object"
        case twoBuckets = "two buckets in turn"
        case newScope = "new user scope"
        case newBucket = "new bucket"
        case newObject = "new object"
        case newTopic = "new topic"
        case newTopicSender = "new sender of a topic"
        case newSender = "new sender of a direct push"
        case newIssuer = "new issuer of a command"
        case kindsInTurn = "kinds in turn, all new"

        func push(_ number: Int) -> Push {
            let user = "u-\(number)"
            switch self {
            case .sameObject: return .object("lamp", bucket: "home", scope: .user("u-a"), sender: "u-a")
            case .twoBuckets:
                return .object("lamp", bucket: "home-\(number % 2)", scope: .user("u-a"), sender: "u-a")
            case .newScope: return .object("lamp", bucket: "home", scope: .user(user), sender: user)
            case .newBucket: return .object("lamp", bucket: "home-\(number)", scope: .user("u-a"), sender: "u-a")
            case .newObject: return .object("lamp-\(number)", bucket: "home", scope: .user("u-a"), sender: "u-a")
            case .newTopic: return .topic("talk-\(number)", scope: .app, sender: "u-a")
            case .newTopicSender: return .topic("talk", scope: .app, sender: user)
            case .newSender: return .direct(sender: user)
            case .newIssuer: return .command(issuer: user)
            case .kindsInTurn:
                switch number % 4 {
                case 0: return .object("o-\(number)", bucket: "b-\(number)", scope: .group("g-\(number)"), sender: user)
                case 1: return .topic("t-\(number)", scope: .user(user), sender: user)
                case 2: return .command(issuer: user)
                default: return .direct(sender: user)
                }
            }
        }
    }

    let shape: Shape
    var source = TrafficAgent.Source.socket
    /// How long after a message was handled the next one comes, in seconds.
    let trip: Double
    /// How many pushes each handled message causes: in a fleet as many as there are devices.
    var fanOut = 1
    /// How many pushes it begins with.
    var first = 1
    let seconds: Double
    let seed: UInt64

    var name: String {
        let trip = trip < 1 ? "\(Int(trip * 1000)) ms" : "\(Int(trip)) s"
        return "loop: \(shape.rawValue), \(trip)\(fanOut > 1 ? ", fan-out \(fanOut)" : "")"
            + "\(first > 1 ? ", \(first) at first" : "")\(source == .broker ? ", MQTT" : "")"
    }

    /// The most messages that may be handled while the loop runs.
    ///
    /// A loop of long round trips that never reaches the rate at which a breaker opens may keep its own pace.
    private var bound: Int {
        let hours = (seconds / 3600).rounded(.up)
        if trip <= 1 { return Int(hours) * (shape == .sameObject ? 40 : 2100) }
        if fanOut == 1, Double(first) * 10 / trip < 20 { return max(1000, Int(seconds / trip) * first) }
        return Int(hours) * 1000
    }

    func row(tool: String) throws -> TrafficRow {
        var row = TrafficRow(name)
        let cloud = try Cloud(tool: tool, source: source)
        let stream = Stream()
        var chance = Chance(seed: seed, name)
        var count = 0
        func sendNext(_ cloud: Cloud) {
            cloud.send(shape.push(count), of: stream)
            count += 1
        }
        cloud.onHandled = { [unowned cloud] sent in
            // Round trips differ a little; all of a fleet are caused by one write.
            let time = cloud.now + trip * Double.random(in: 0.8...1.2, using: &chance)
            cloud.at(time) { for _ in 0..<fanOut { sendNext(cloud) } }
        }
        let start = cloud.now
        for _ in 0..<first { cloud.at(start) { sendNext(cloud) } }
        // A loop that is far beyond its bound need not go on; nor one that must be, by what it has sent.
        try cloud.run(until: start + seconds) {
            stream.handled >= bound * 10 || stream.sent > (bound + first) * max(fanOut, 20) * 2
        }
        let passed = cloud.now - start
        cloud.onHandled = { _ in }
        row.note("sent", stream.sent)
        row.note("handled", stream.handled)
        row.note("in", passed < 120 ? "\(passed.text(0)) s" : "\((passed / 60).text(0)) min")
        row.note("first minute", stream.times.count { $0.handled < start + 60 })
        row.note("second half", stream.times.count { $0.handled > start + passed / 2 })
        row.bound = "at most \(bound) in \(seconds <= 3600 ? "the first hour" : "\((seconds / 3600).text(1)) h")"
        if stream.handled > bound {
            row.broken.append("\(stream.handled) were handled in \(passed.text(0)) s; \(stream.answerText)")
        }
        try row.close(cloud, stream)
        return row
    }
}

extension ClosedLoop {
    /// All rows; in the long mode with a round trip of ten seconds too.
    static func all(seconds: Double, seed: UInt64, isLong: Bool) -> [ClosedLoop] {
        var rows: [ClosedLoop] = []
        let trips = isLong ? [0.05, 1, 10] : [0.05, 1]
        for shape in Shape.allCases {
            rows += trips.map { trip in
                ClosedLoop(shape: shape, trip: trip, first: trip < 1 ? 40 : 100, seconds: seconds, seed: seed)
            }
        }
        for trip in trips {
            rows.append(ClosedLoop(shape: .sameObject, trip: trip, seconds: seconds, seed: seed))
        }
        for (shape, fanOut) in [(Shape.newObject, 2), (.kindsInTurn, 2), (.sameObject, 10), (.newBucket, 100)] {
            rows.append(ClosedLoop(shape: shape, trip: 0.05, fanOut: fanOut, seconds: seconds, seed: seed))
        }
        rows.append(
            ClosedLoop(shape: .newBucket, source: .broker, trip: 0.05, first: 40, seconds: seconds, seed: seed))
        return rows
    }
}
