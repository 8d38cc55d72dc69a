import Testing

@testable import KiiPush

/// What a store is told, step by step.
struct BreakerChangesTests {
    enum Step {
        case opened(Int, until: Int64)
        case closed(Int)
        /// What one write tells: those that have opened with the ends of their cool-downs, and those that have closed.
        case take([Int: Int64], closed: Set<Int>)
        case ended(Bool)
        case postpone
        /// Whether something is new, and whether anything waits.
        case state(isNew: Bool, isWaiting: Bool)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]

        init(_ name: String, _ steps: [Step]) { (testDescription, self.steps) = (name, steps) }
    }

    static let rows: [Row] = [
        Row(
            "what has opened is told once",
            [
                .opened(1, until: 60), .state(isNew: true, isWaiting: true), .take([1: 60], closed: []), .ended(true),
                .state(isNew: false, isWaiting: false), .take([:], closed: []), .ended(true),
            ]),
        Row(
            "of two openings the last is told",
            [.opened(1, until: 60), .opened(1, until: 120), .take([1: 120], closed: []), .ended(true)]),
        Row(
            "what the store never had need not be closed there",
            [.opened(1, until: 60), .closed(1), .state(isNew: true, isWaiting: false), .take([:], closed: [])]),
        Row("what nobody opened either", [.closed(1), .state(isNew: false, isWaiting: false)]),
        Row(
            "what it has is closed there",
            [.closed(9), .take([:], closed: [9]), .ended(true), .closed(9), .take([:], closed: [])]),
        Row(
            "and not when it has opened again by then", [.closed(9), .opened(9, until: 60), .take([9: 60], closed: [])]),
        Row(
            "what closes while its opening is written is closed by the next write",
            [
                .opened(1, until: 60), .take([1: 60], closed: []), .closed(1), .ended(true), .take([:], closed: [1]),
                .ended(true), .state(isNew: false, isWaiting: false),
            ]),
        Row(
            "and needs none when that write failed",
            [
                .opened(1, until: 60), .take([1: 60], closed: []), .closed(1), .ended(false),
                .state(isNew: true, isWaiting: false), .take([:], closed: []),
            ]),
        Row(
            "what was not written waits, and is not new",
            [
                .opened(1, until: 60), .closed(9), .take([1: 60], closed: [9]), .ended(false),
                .state(isNew: false, isWaiting: true), .take([1: 60], closed: [9]), .ended(true),
                .state(isNew: false, isWaiting: false),
            ]),
        Row(
            "unless something newer does",
            [
                .opened(1, until: 60), .closed(9), .take([1: 60], closed: [9]), .opened(1, until: 120),
                .opened(9, until: 180), .ended(false), .take([1: 120, 9: 180], closed: []),
            ]),
        Row(
            "what is put off waits until something is new",
            [
                .opened(1, until: 60), .postpone, .state(isNew: false, isWaiting: true), .opened(2, until: 60),
                .state(isNew: true, isWaiting: true), .take([1: 60, 2: 60], closed: []),
            ]),
    ]

    @Test("each step leaves what it should to be told", arguments: rows)
    func steps(row: Row) {
        var changes = BreakerChanges(isWide: true)
        changes.begin(stored: [ResourceKey(9)])
        for (number, step) in row.steps.enumerated() {
            switch step {
            case .opened(let key, let end): changes.opened(ResourceKey(key), until: end, coolDown: 60)
            case .closed(let key): changes.closed(ResourceKey(key))
            case .take(let opened, let closed):
                let batch = changes.take()
                let found = Dictionary(uniqueKeysWithValues: batch.opened.map { ($0.key, $0.until.nanoseconds) })
                let expected = Dictionary(uniqueKeysWithValues: opened.map { (Self.key($0), $1) })
                #expect(found == expected, "step \(number)")
                #expect(Set(batch.closed) == Set(closed.map(Self.key)), "step \(number)")
            case .ended(let isWritten): changes.ended(isWritten: isWritten)
            case .postpone: changes.postpone()
            case .state(let isNew, let isWaiting):
                #expect(changes.isNew == isNew && changes.isWaiting == isWaiting, "step \(number)")
            }
        }
    }

    @Test("without a store nothing is kept")
    func without() {
        var changes = BreakerChanges(isWide: false)
        changes.opened(ResourceKey(1), until: 60, coolDown: 60)
        #expect(!changes.isNew && !changes.isWaiting)
    }

    private static func key(_ number: Int) -> TrippedBreaker.Key {
        TrippedBreaker.Key(isWide: true, digest: ResourceKey(number).digest)
    }
}
