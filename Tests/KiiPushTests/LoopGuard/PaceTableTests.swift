import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// The paces of many keys.
struct PaceTableTests {
    private let limits = Pace.Limits.letters()

    private func letters(_ number: Int, _ limits: Pace.Limits = .letters()) -> PaceKey {
        PaceKey(ResourceKey(number), .letters, limits)
    }

    /// Makes a key's messages wait.
    private func pace(_ table: inout PaceTable, _ key: Int, at now: Double) {
        guard let index = table.index(of: letters(key), now) else { return }
        for _ in 0..<Int(limits.burst + limits.allowance) + 1 {
            table[index].hear(now, isNew: true, limits)
            _ = table[index].ask(now, limits)
        }
    }

    @Test("each key has its own pace")
    func own() throws {
        var table = PaceTable(capacity: 100)
        pace(&table, 1, at: 0)
        for key in 2...50 { _ = table.index(of: letters(key), 0) }
        let index = try #require(table.find(letters(1)))
        let again = table.index(of: letters(1), 1)
        #expect(table[index].isLimiting(1, limits) && again == index)
        for key in 2...50 { #expect(table.find(letters(key)).map { table[$0].isPlain } == true) }
        #expect(table.find(letters(51)) == nil)
    }

    @Test("forgets idle keys as new ones come, and reuses their space")
    func idle() {
        var table = PaceTable(capacity: 1000)
        for key in 0..<5000 {
            // Ten a second: those of the last thirty seconds and some more are known.
            _ = table.index(of: letters(key), Double(key) / 10)
        }
        let known = (0..<5000).filter { table.find(letters($0)) != nil }
        #expect(known.count < 650 && known.contains(4999) && !known.contains(0))
    }

    @Test("keeps a key with a slow pace until its tokens are back")
    func slow() throws {
        var table = PaceTable(capacity: 100)
        let limits = Pace.Limits.letters(every: 600)
        let made = table.index(of: letters(1, limits), 0)
        let index = try #require(made)
        for _ in 0..<20 { table[index].pass() }
        for (time, isKnown) in [(3700.0, true), (11_900, true), (12_100, false)] {
            _ = table.index(of: letters(Int(time), limits), time)
            #expect((table.find(letters(1)) != nil) == isKnown, "after \(time) seconds")
        }
    }

    @Test("when full, forgets an active key before a paced one")
    func full() {
        var table = PaceTable(capacity: 16)
        for key in 0..<7 { pace(&table, key, at: 0) }
        let indices = (100..<1000).map { table.index(of: letters($0), 1) }
        #expect(!indices.contains(nil))
        #expect((0..<7).allSatisfy { table.find(letters($0)).map { table[$0].isLimiting(1, limits) } == true })
        #expect((100..<1000).count { table.find(letters($0)) != nil } == 9 && table.find(letters(999)) != nil)
    }

    @Test("when full, keeps a key for which a message waits, although it is not paced yet")
    func fullOfWaiting() throws {
        var table = PaceTable(capacity: 16)
        let first = table.index(of: letters(0), 0)
        table[try #require(first)].hear(0, isNew: true, limits)
        let indices = (1...100).map { table.index(of: letters($0), 1) }
        #expect(!indices.contains(nil))
        #expect(table.find(letters(0)).map { table[$0].waiting } == 1)
    }

    @Test("when all keys are paced, a new key has no pace until one is idle")
    func fullOfPaced() {
        var table = PaceTable(capacity: 16)
        for key in 0..<16 { pace(&table, key, at: 0) }
        let indices = (100..<120).map { table.index(of: letters($0), 1) }
        #expect(indices.allSatisfy { $0 == nil })
        #expect((0..<16).allSatisfy { table.find(letters($0)) != nil })
        // An hour later nobody has asked for them.
        let index = table.index(of: letters(200), 3700)
        #expect(index != nil && table.find(letters(200)) == index)
    }
}
