import KiiPushTesting
import Testing

@testable import KiiPush

struct PassWindowTests {
    enum Step {
        case add(Int64)
        case takeBack
        /// How many there should be at a time.
        case count(Int64, Int)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var span: Int64 = 10
        var limit = 256
        let steps: [Step]

        init(_ name: String, span: Int64 = 10, limit: Int = 256, _ steps: [Step]) {
            (testDescription, self.span, self.limit, self.steps) = (name, span, limit, steps)
        }
    }

    static let rows: [Row] = [
        Row("nothing", [.count(0, 0), .count(.max, 0)]),
        Row("at exactly the span it is out", [.add(0), .count(9, 1), .count(10, 0), .count(9, 0)]),
        Row("each for itself", [.add(0), .add(5), .count(9, 2), .count(10, 1), .count(14, 1), .count(15, 0)]),
        Row("a clock that stands", [.add(3), .add(3), .add(3), .count(3, 3), .count(12, 3), .count(13, 0)]),
        Row("a clock set back", [.add(100), .add(50), .count(50, 2), .count(109, 2), .count(110, 0)]),
        Row("forward by years, and on from there", [.add(0), .count(.max, 0), .add(.max), .count(.max, 1)]),
        Row(
            "from the first time there is to the last",
            [.add(.min + 1), .count(.min + 1, 1), .add(.max), .count(.max, 1)]),
        Row("a span of years", span: .max, [.add(0), .add(.max - 1), .count(.max - 1, 2), .count(.max, 1)]),
        Row("no span", span: 0, [.add(0), .add(0), .count(0, 0)]),
        Row("the latest is taken back", [.add(0), .add(5), .takeBack, .count(9, 1), .count(10, 0)]),
        Row("one of several of one time", [.add(5), .add(5), .takeBack, .count(5, 1), .takeBack, .count(5, 0)]),
        Row("nothing to take back", [.takeBack, .takeBack, .add(1), .count(1, 1), .takeBack, .takeBack, .count(1, 0)]),
        Row("taken back when forgotten", [.add(0), .count(20, 0), .takeBack, .add(20), .count(20, 1)]),
        Row(
            "in steps, from the first of each", span: 2560, limit: 257,
            [
                .add(0), .add(10), .add(11), .count(2559, 3), .count(2560, 1), .count(2570, 1), .count(2571, 0),
            ]),
        Row(
            "exact up to 256", span: 2560, limit: 256,
            [
                .add(0), .add(10), .add(11), .count(2560, 2), .count(2570, 1), .count(2571, 0),
            ]),
    ]

    @Test("what passed counts from its time until the span is over", arguments: rows)
    func steps(row: Row) {
        var window = PassWindow()
        for (number, step) in row.steps.enumerated() {
            switch step {
            case .add(let time): window.add(time, row.span, limit: row.limit)
            case .takeBack: window.takeBack()
            case .count(let time, let expected):
                let count = window.count(row.span, time)
                #expect(count == expected, "step \(number)")
            }
        }
    }

    /// The same by a list of times, which is slow and plainly right.
    private struct NaiveWindow {
        var times: [Int64] = []

        mutating func forget(_ span: Int64, _ now: Int64) { times.removeAll { $0 <= now - span } }
    }

    @Test("it agrees with a list of times; beyond 256 messages to within 1/256 of the span", arguments: 0..<40)
    func agrees(seed: Int) {
        var source = SeededGenerator(seed: UInt64(seed))
        let isExact = seed % 2 == 0
        let limit = isExact ? Int.random(in: 1...256, using: &source) : Int.random(in: 257...100_000, using: &source)
        let span = Int64.random(in: 1...100_000, using: &source)
        let step = isExact ? 0 : span / 256
        var window = PassWindow()
        var naive = NaiveWindow()
        var now: Int64 = 0
        for number in 0..<3000 {
            // Now in bursts, now with long pauses.
            now += Int.random(in: 0..<4, using: &source) == 0 ? Int64.random(in: 0...span / 8, using: &source) : 0
            if Int.random(in: 0..<200, using: &source) == 0 { now += span }
            let count = window.count(span, now)
            naive.forget(span, now)
            let sure = naive.times.count { $0 > now - span + step }
            #expect((sure...naive.times.count).contains(count), "step \(number) of seed \(seed)")
            if Int.random(in: 0..<5, using: &source) == 0 {
                window.takeBack()
                _ = naive.times.popLast()
            } else if count < limit {
                window.add(now, span, limit: limit)
                naive.times.append(now)
            }
            #expect(marks(of: window) <= 2 * 257)
        }
    }

    @Test("a million messages in one span are kept in no more than 257 marks")
    func memory() {
        var window = PassWindow()
        let span: Int64 = 10_000_000_000
        var most = 0
        for number in 0..<100_000 {
            window.add(Int64(number) * 100_000, span, limit: 1_000_000_000)
            if number % 1000 == 0 { most = max(most, marks(of: window)) }
        }
        let count = window.count(span, span - 1)
        #expect(count == 100_000)
        #expect(max(most, marks(of: window)) <= 257)
    }

    /// How many marks lie in a window, those included whose room is still to be given back.
    private func marks(of window: PassWindow) -> Int {
        let older = Mirror(reflecting: window).children.first { $0.label == "older" }?.value as? any Collection
        return (older?.count ?? .max - 1) + 1
    }
}
