import Testing

@testable import KiiPushTesting

@Suite("Event queue")
struct EventQueueTests {
    @Test("what is due first comes first, and within a millisecond what was put in first")
    func order() {
        var random = SeededGenerator(seed: 7)
        var queue = EventQueue<Int>()
        var expected: [Int64: [Int]] = [:]
        for item in 0..<2000 {
            let time = Int64(random.next() % 300)
            queue.add(item, at: time)
            expected[time, default: []].append(item)
        }
        for time in expected.keys.sorted() {
            #expect(queue.nextTime == time)
            #expect(queue.popList() == expected[time])
        }
        #expect(queue.nextTime == nil && queue.popList().isEmpty)
    }

    @Test("what is put in while a millisecond happens still comes within it")
    func sameTime() {
        var queue = EventQueue<Int>()
        queue.add(1, at: 5)
        #expect(queue.popList() == [1])
        queue.add(2, at: 5)
        #expect(queue.nextTime == 5 && queue.popList() == [2])
    }

    @Test("the generator is SplitMix64")
    func generator() {
        var random = SeededGenerator(seed: 1_234_567)
        #expect(
            (0..<3).map { _ in random.next() } == [
                6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
            ])
    }
}
