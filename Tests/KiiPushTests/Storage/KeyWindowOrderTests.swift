import Testing

@testable import KiiPush

struct KeyWindowOrderTests {
    private func keys(_ number: Int, second: Int? = nil) -> DedupeKeys {
        let key = KeyedDigest(.published)
        func make(_ number: Int) -> DedupeKey {
            var key = key
            key.add(UInt64(number))
            return key.finish()
        }
        return DedupeKeys(primary: make(number), secondary: second.map(make), strength: .strong)
    }

    private func remembers(_ window: inout KeyWindow, _ number: Int, at time: Int64 = 0) -> Bool {
        window.contains(keys(number).primary, at(time))
    }

    private func at(_ nanoseconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: nanoseconds) }

    @Test("a message with two keys counts once, and both are forgotten with it")
    func countsMessages() {
        var window = KeyWindow(age: .seconds(60), count: 3)
        for number in 0..<4 { window.insert(keys(number, second: 100 + number), at(0)) }
        #expect(window.evictedEarly == 1)
        for number in 0..<4 {
            #expect(remembers(&window, number) == (number > 0))
            #expect(remembers(&window, 100 + number) == (number > 0))
        }
    }

    @Test("a key that is handled again stays for its later time")
    func keepsLaterTime() {
        var window = KeyWindow(age: .nanoseconds(10), count: 100)
        window.insert(keys(1), at(0))
        window.insert(keys(2, second: 1), at(8))
        #expect(remembers(&window, 1, at: 17))
        #expect(!remembers(&window, 1, at: 18))
        #expect(window.evictedEarly == 0)
    }

    @Test(
        "ten thousand messages through a window of a hundred leave the last hundred, while numbers begin again too",
        arguments: [0, UInt32.max - 5000, UInt32.max])
    func slides(firstNumber: UInt32) {
        var window = KeyWindow(age: .seconds(60), count: 100, firstNumber: firstNumber)
        for number in 0..<10_000 {
            window.insert(keys(number, second: number % 3 == 0 ? 1_000_000 + number : nil), at(0))
        }
        for number in 9_800..<10_000 {
            #expect(remembers(&window, number) == (number >= 9_900))
            guard number % 3 == 0 else { continue }
            #expect(remembers(&window, 1_000_000 + number) == (number >= 9_900))
        }
        #expect(window.evictedEarly == 9_900)
    }

    @Test("a key that was forgotten and is handled again is found by its new entry, however often")
    func handledAgain() {
        var window = KeyWindow(age: .nanoseconds(10), count: 100, firstNumber: .max - 50)
        for time in stride(from: Int64(0), to: 1000, by: 10) {
            for number in 0..<5 {
                #expect(!remembers(&window, number, at: time))
                window.insert(keys(number), at(time))
                #expect(remembers(&window, number, at: time + 9))
            }
        }
        #expect(window.counts == .init(remembered: 5))
    }
}
