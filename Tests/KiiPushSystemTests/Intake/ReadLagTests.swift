@testable import KiiPushSystem
import Testing

@Suite("whether a source has more than is taken")
struct ReadLagTests {
    enum Step {
        /// A poll of so many milliseconds, and whether there is something to read then.
        case poll(Int, ready: Bool)
        /// So many milliseconds in which nothing is read.
        case stop(Int)
        case read(Int)
    }

    static let rows: [(what: String, steps: [Step], isBehind: Bool)] = [
        ("at the start", [], false),
        ("messages with pauses", Array(repeating: .poll(5, ready: true), count: 100), false),
        ("a burst", [.poll(1000, ready: true), .stop(200), .poll(0, ready: true), .stop(40)], false),
        ("more each time", [.stop(200), .poll(0, ready: true), .stop(60)], true),
        ("no room", [.stop(251)], true),
        ("empty again", [.stop(400), .poll(0, ready: false), .stop(1), .poll(0, ready: false)], true),
        ("empty for long enough", [.stop(400), .poll(0, ready: false), .poll(1, ready: false)], false),
        (
            "a sender who writes as soon as there is room",
            [.stop(400), .poll(0, ready: false), .poll(0, ready: true)], true
        ),
        ("a window that is not full", [.poll(5, ready: true), .read(19)], false),
        ("a full window", [.poll(5, ready: true), .read(20)], true),
        ("a full window in two reads", [.poll(5, ready: true), .read(12), .poll(0, ready: true), .read(12)], true),
        ("two bursts", [.poll(5, ready: true), .read(12), .poll(5, ready: true), .read(12)], false),
        (
            "a full window long ago",
            [.poll(5, ready: true), .read(20), .poll(999, ready: false), .poll(1, ready: true)], false
        ),
    ]

    @Test(
        "a source is behind while it has had no pause for a quarter of a second, or had a full window", arguments: rows)
    func lag(what: String, steps: [Step], isBehind: Bool) {
        var now = ContinuousClock.now
        var lag = ReadLag(now)
        for step in steps {
            let start = now
            switch step {
            case .poll(let time, let isReady):
                now += .milliseconds(time)
                lag.polled(start, now, isReady: isReady)
            case .stop(let time):
                now += .milliseconds(time)
                lag.stopped()
            case .read(let messages): lag.read(messages, window: 20, now)
            }
        }
        #expect(lag.isBehind(now) == isBehind)
    }
}
