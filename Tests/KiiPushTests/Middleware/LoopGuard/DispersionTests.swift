import KiiPushTesting
import Testing

@testable import KiiPush

@Suite("Clusters")
struct DispersionTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let counts: [Int]
        let factors: ClosedRange<Double>

        init(_ name: String, _ counts: [Int], _ factors: ClosedRange<Double>) {
            (testDescription, self.counts, self.factors) = (name, counts, factors)
        }
    }

    static let rows = [
        Row("nothing is known yet", [], 1...1),
        Row("nothing comes", [0, 0, 0, 0], 1...1),
        Row("one second says nothing", [40], 1...1),
        Row("a regular stream", [5, 5, 5, 5, 5, 5], 1...1),
        Row("by chance", [2, 3, 1, 4, 2, 0, 3, 2, 1, 2, 5, 0, 2], 1...1),
        Row("by chance, three seconds", [1, 5, 2], 1...1),
        Row("a cluster among three seconds", [0, 20, 0], 6...6),
        Row("a few clusters", [4, 4, 0, 0, 0, 5, 3, 0, 0, 0, 0, 6], 1.5...3),
        Row("large clusters", [0, 0, 400, 0, 0, 0, 300, 0], 6...6),
        Row("what is long ago is forgotten", [0, 40, 0, 40] + [Int](repeating: 3, count: 1200), 1...1),
        Row("more than can be", [0, .max, 0], 6...6),
    ]

    @Test("arrivals in clusters vary more than by chance", arguments: rows)
    func factor(row: Row) {
        var dispersion = Dispersion()
        dispersion.add(row.counts)
        #expect(row.factors.contains(dispersion.factor), "\(dispersion.factor)")
    }

    private func evidence(handled: Int, arrived: Int, dispersion: Double) -> Double {
        var evidence = CauseEvidence(arrived: 15, seconds: 3, dispersion: dispersion)
        evidence.add(CauseEvidence.Stretch(handled: handled, arrived: arrived, seconds: 2))
        return evidence.logRatio
    }

    @Test("a cluster behind a try is taken for answers only where messages do not come in clusters")
    func cluster() {
        #expect(evidence(handled: 12, arrived: 25, dispersion: 1) < -2.5)
        #expect((-2.5...0).contains(evidence(handled: 12, arrived: 25, dispersion: 6)))
    }

    @Test("where nothing comes behind a try, handling causes nothing, clusters or not", arguments: [1.0, 6])
    func nothing(dispersion: Double) {
        #expect(evidence(handled: 4, arrived: 0, dispersion: dispersion) >= 2.2)
    }
}
