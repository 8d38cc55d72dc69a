import KiiPush

extension DeadLetterGuarantee {
    /// Every guarantee, in the order of the protocol's documentation.
    static let all = keeping + numbers + room + shares + [atOnce]

    // MARK: Persistence

    private static let keeping = [
        Self("an empty store has no letters") { trial in
            try trial.expectLetters([], "at first")
            trial.expect(try !trial.store.remove(1), "an empty store should have nothing to remove")
        },
        Self("a letter is returned unchanged") { trial in
            var added: [DeadLetter] = []
            for letter in letters { added.append(try trial.add(letter)) }
            for when in ["at first", "once more"] { try trial.expectLetters(added, when) }
        },
        Self("a letter may be added twice, and then has two numbers") { trial in
            let first = try trial.add(letters[0])
            let second = try trial.add(first)
            trial.expect(first.id != second.id, "it should have a number of its own")
            try trial.expectLetters([first, second], "afterwards")
        },
        Self("a letter is removed once by its number, and the others are kept") { trial in
            var added: [DeadLetter] = []
            for number in 0..<3 { added.append(try trial.add(letter(number))) }
            trial.expect(try trial.store.contains(added[1].id), "the letter should be there")
            trial.expect(try trial.store.remove(added[1].id), "the letter should have been there")
            trial.expect(try !trial.store.remove(added[1].id), "it should be gone then")
            trial.expect(try !trial.store.contains(added[1].id), "it should not be there any more")
            try trial.expectLetters([added[0], added[2]], "afterwards")
        },
        Self("removing an unknown letter changes nothing") { trial in
            let only = try trial.add(letters[0])
            for id in [0, only.id + 1, UInt64(Int64.max) + 1, .max] {
                trial.expect(try !trial.store.remove(id), "there should be no letter \(id)")
            }
            try trial.expectLetters([only], "afterwards")
        },
        Self("a letter into which another one was merged since is kept", capacity: 10) { trial in
            let read = try trial.add(letter(0, keys: [1]))
            let id = try trial.store.add(letter(1, keys: [1]))
            trial.expect(id == read.id, "the second one should be merged into the first")
            trial.expect(try !trial.store.remove(read), "it should be kept, since it represents two now")
            let merged = try trial.store.letters()
            trial.expect(merged.map(\.count) == [2], "one letter should represent two messages")
            for letter in merged {
                trial.expect(try trial.store.remove(letter), "it should be removed as it is now")
                trial.expect(try !trial.store.remove(letter), "it should be gone then")
            }
            try trial.expectLetters([], "afterwards")
        },
        Self("routes are recorded for the letter that was read, or for none", capacity: 10) { trial in
            let read = try trial.add(letter(0, keys: [1]))
            let other = try trial.add(letter(1, keys: [2]))
            try trial.store.setRoutes(["left"], of: other)
            let routes = try trial.store.letters().map(\.routes)
            trial.expect(
                [[["r0"], ["left"]], [["r0"], ["r1"]]].contains(routes),
                "the second letter should have them, the routes are \(routes)")
            _ = try trial.store.add(letter(2, keys: [1]))
            try trial.store.setRoutes(["left"], of: read)
            trial.expect(
                try trial.store.letters().first?.routes == ["r2"],
                "a letter that was merged since should have the routes of the newest")
        },
    ]

    // MARK: Numbers

    private static let numbers = [
        Self("letters are returned in the order they were added") { trial in
            let added = try [5, 1, 3].map { try trial.add(letter($0)) }
            try trial.expectLetters(added, "in the order in which they were added")
        },
        Self("numbers go up from 1") { trial in
            let numbers = try (0..<5).map { try trial.store.add(letter($0)) }
            trial.expect(numbers == [1, 2, 3, 4, 5], "they should be 1 to 5, they are \(numbers)")
        },
        Self("the number of a removed letter is not used again") { trial in
            var last: UInt64 = 0
            for round in 0..<5 {
                let number = try trial.store.add(letter(round))
                trial.expect(number > last, "number \(number) came after \(last)")
                last = number
                try trial.store.remove(number)
            }
        },
    ]

    // MARK: Capacity

    private static let room = [
        Self("beyond its count a store refuses letters until one is removed", capacity: 3) { trial in
            var added = try (0..<3).map { try trial.add(letter($0)) }
            try trial.expectFull(letter(3), "beyond the count")
            try trial.store.remove(added.removeFirst().id)
            added.append(try trial.add(letter(4)))
            try trial.expectFull(letter(5), "beyond the count again")
            try trial.expectLetters(added, "in the end")
        },
        Self("beyond its bytes a store refuses letters until one is removed", bytes: 1000) { trial in
            let large = try trial.add(letter(0, size: 600))
            let small = try trial.add(letter(1, size: 400))
            try trial.expectFull(letter(2, size: 1), "beyond the bytes")
            let empty = try trial.add(letter(3, size: 0))
            try trial.store.remove(large.id)
            try trial.expectFull(letter(4, size: 601), "larger than the room that is left")
            let other = try trial.add(letter(5, size: 600))
            try trial.expectLetters([small, empty, other], "in the end")
        },
        Self("a failed removal frees no capacity", capacity: 1) { trial in
            let only = try trial.add(letter(0))
            trial.expect(try !trial.store.remove(only.id + 1), "there should be no such letter")
            try trial.expectFull(letter(1), "when a letter that is not there was removed")
        },
        Self("a store of capacity 0 refuses every letter", capacity: 0) { trial in
            try trial.expectFull(letter(0), "in a store for none")
        },
    ]

    // MARK: Shares

    private static let shares = [
        Self("one key may use a tenth of the letters; the last one summarizes the rest", capacity: 40) { trial in
            var added = try (0..<4).map { try trial.add(letter($0, keys: [1, 9])) }
            for number in 4..<10 {
                let id = try trial.store.add(letter(number, keys: [1, 9]))
                trial.expect(id == added[3].id, "letter \(added[3].id) should represent the next one, \(id) does")
            }
            var last = letter(9)
            last.id = added[3].id
            last.summary = DeadLetter.Summary(count: 7, firstArrivedAt: .seconds(3), bytesLost: 6 * 8)
            added[3] = last
            added.append(try trial.add(letter(10, keys: [2, 9])))
            for when in ["at first", "once more"] { try trial.expectLetters(added, when) }
            try trial.store.remove(added.removeFirst().id)
            added.append(try trial.add(letter(11, keys: [1, 9])))
            try trial.expectLetters(added, "when a letter of the key has gone and another has come")
            try trial.store.remove(last.id)
            added.removeAll { $0.id == last.id }
            added.append(try trial.add(letter(12, keys: [1, 9])))
            try trial.expectLetters(added, "when the letter that represented others has gone")
        },
        Self("one key may use a fifth of the bytes", bytes: 1000) { trial in
            let first = try trial.add(letter(0, size: 100, keys: [1]))
            var second = try trial.add(letter(1, size: 100, keys: [1]))
            trial.expect(try trial.store.add(letter(2, size: 50, keys: [1])) == second.id, "it should be folded")
            let id = second.id
            second = letter(2, size: 50)
            second.id = id
            second.summary = DeadLetter.Summary(count: 2, firstArrivedAt: .seconds(1), bytesLost: 100)
            try trial.expectLetters([first, second], "afterwards")
            trial.expect(try trial.store.add(letter(3, size: 700, keys: [1])) == id, "it should be counted")
            second.summary = DeadLetter.Summary(count: 3, firstArrivedAt: .seconds(1), bytesLost: 800)
            try trial.expectLetters([first, second], "when a payload was larger than the share")
            _ = try trial.add(letter(4, size: 300, keys: [2]))
        },
        Self("a wider key may use half of the letters, whatever its narrow keys", capacity: 8) { trial in
            var ids: [UInt64] = []
            for number in 0..<20 { ids.append(try trial.store.add(letter(number, keys: [UInt64(number), 99]))) }
            trial.expect(Set(ids).count == 4, "there should be 4 letters, there are \(Set(ids).count)")
            let count = try trial.store.letters().reduce(0) { $0 + $1.count }
            trial.expect(count == 20, "they should represent 20 messages, not \(count)")
            for number in 20..<24 { _ = try trial.add(letter(number, keys: [UInt64(number), UInt64(number + 100)])) }
            try trial.expectFull(letter(30, keys: [30, 31]), "with other keys in a full store")
            try trial.expectFull(letter(30), "without keys in a full store")
            let last = try trial.store.add(letter(31, keys: [200, 99]))
            trial.expect(last == ids.max(), "the last letter of the wider key should still represent another one")
        },
        Self("a wider key may use half of the bytes, whatever its narrow keys", bytes: 1000) { trial in
            let ids = try (0..<5).map { try trial.store.add(letter($0, size: 150, keys: [UInt64($0), 99])) }
            trial.expect(Set(ids).count == 3, "3 of 150 bytes should be kept, \(Set(ids).count) were")
        },
    ]

    // MARK: Concurrency

    private static let atOnce = Self("concurrent calls are atomic", capacity: 40) { trial in
        let numbers = await withTaskGroup(of: UInt64?.self) { group in
            for number in 0..<64 { group.addTask { try? trial.store.add(letter(number)) } }
            return await group.reduce(into: [UInt64]()) { all, number in if let number { all.append(number) } }
        }
        trial.expect(numbers.count == 40, "40 letters have room, \(numbers.count) were taken")
        trial.expect(Set(numbers).count == numbers.count, "two letters should not have one number")
        let isThere = try trial.store.letters().map(\.id)
        trial.expect(isThere == numbers.sorted(), "all that were taken should be there, in their order")
        let removed = await withTaskGroup(of: Bool.self) { group in
            for number in numbers + numbers { group.addTask { (try? trial.store.remove(number)) ?? false } }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        trial.expect(removed == numbers.count, "each letter should be removed once, \(removed) were")
    }

    // MARK: Fixtures

    /// Letters with values that are easily lost.
    private static let letters: [DeadLetter] = {
        var whole = RawPayload(
            "{\"a\":1}", transport: .mqtt, transportMessageID: "m\u{0}1")
        whole.isRedelivered = true
        whole.mqtt = .odd
        whole.arrivedAt = MonotonicInstant(nanoseconds: 41)
        var odd = RawPayload(Array(UInt8.min...UInt8.max), transport: "", transportMessageID: "")
        odd.arrivedAt = MonotonicInstant(nanoseconds: -5)
        // The two are canonically equivalent.
        let spellings = ["\u{E9}", "e\u{301}"]
        var tried = DeadLetter(payload: RawPayload([1]), reason: .quarantined, routes: ["a"], arrivedAt: .seconds(2))
        (tried.attempts, tried.rulesGeneration, tried.cause) = (5, 1 << 40, spellings[1])
        var unread = DeadLetter(payload: RawPayload([2]), reason: .undecodable, routes: [], arrivedAt: .seconds(3))
        unread.cause = ""
        return [
            tried, unread,
            DeadLetter(
                payload: whole, reason: .failed, routes: ["b", "a", "b"], arrivedAt: MonotonicInstant(nanoseconds: 42)),
            DeadLetter(payload: odd, reason: .backlogFull, routes: spellings + [""], arrivedAt: .seconds(-1)),
            DeadLetter(
                payload: RawPayload([0], transportMessageID: spellings[1]), reason: .killSwitch, routes: ["\u{0}"],
                arrivedAt: .seconds(1)),
            DeadLetter(payload: RawPayload([]), reason: .failed, routes: [], arrivedAt: .seconds(1_000_000_000)),
            DeadLetter(
                payload: RawPayload([UInt8](repeating: 0xFF, count: 65_536)), reason: .failed,
                routes: (0..<100).map { "route \($0)" }, arrivedAt: .seconds(0)),
        ]
    }()

    private static func letter(_ number: Int, size: Int = 8, keys: [UInt64] = []) -> DeadLetter {
        var letter = DeadLetter(
            payload: RawPayload([UInt8](repeating: UInt8(number), count: size), transport: .fcm), reason: .failed,
            routes: ["r\(number)"], arrivedAt: .seconds(Int64(number)))
        letter.keys = keys.map { DedupeKey(first: $0, second: .max - $0) }
        return letter
    }
}
