import Testing

@testable import KiiPush

/// How many messages of a key are tried within an hour.
struct TryBudgetTests {
    private static let hour: Int64 = .seconds(3600)

    /// Whether another try of a revision is allowed.
    private static func takes(_ budget: inout TryBudget, at seconds: Double) -> Bool {
        budget.takeRevision(.seconds(seconds))
    }

    @Test("a key has sixteen tries in an hour, and a release gives them back")
    func tries() {
        var budget = TryBudget()
        func left(_ time: Int64) -> Int { budget.left(time) }
        budget.use(10, 0)
        budget.use(6, .seconds(100))
        #expect(left(.seconds(200)) == 0)
        #expect(budget.refilled == Self.hour)
        #expect(left(Self.hour) == 10)
        budget.release()
        #expect(left(Self.hour) == 16)
    }

    @Test("two verdicts may be revised in an hour, each with up to three tries")
    func revisions() {
        var budget = TryBudget()
        for time in [0.0, 60] {
            #expect((0..<4).map { _ in Self.takes(&budget, at: time) } == [true, true, true, false])
            budget.endRevision()
        }
        #expect(!Self.takes(&budget, at: 3599))
        #expect(Self.takes(&budget, at: 3600))
    }

    @Test("a revision that clearly finds a loop is the last one for an hour")
    func confirmed() {
        var budget = TryBudget()
        // No revision goes on yet.
        budget.confirmLoop(0)
        #expect(Self.takes(&budget, at: 10))
        budget.confirmLoop(.seconds(20))
        budget.endRevision()
        #expect(!Self.takes(&budget, at: 3619))
        #expect(Self.takes(&budget, at: 3620))
    }
}
