import Glibc
import KiiPushTesting

/// What a seed chooses.
struct Dice {
    private var generator: SeededGenerator

    init(_ seed: Int) { generator = SeededGenerator(seed: UInt64(seed)) }

    mutating func unit() -> Double { Double(generator.next() >> 11) * 0x1p-53 }

    mutating func between(_ least: Double, _ most: Double) -> Double { least + (most - least) * unit() }

    /// Between two numbers, as often near the small one as near the large one.
    mutating func scale(_ least: Double, _ most: Double) -> Double { Self.scale(least, most, at: unit()) }

    /// So far on the way from a number to a larger one, by factors.
    static func scale(_ least: Double, _ most: Double, at part: Double) -> Double { least * pow(most / least, part) }

    /// The pause before the next of so many a second, which come by chance.
    mutating func pause(_ rate: Double) -> Double { -log(1 - unit()) / rate }

    mutating func chance(_ share: Double) -> Bool { unit() < share }

    /// A whole number: the number, or one more, so that the mean is right.
    mutating func round(_ number: Double) -> Int { Int(number) + (chance(number - number.rounded(.down)) ? 1 : 0) }

    mutating func pick<Value>(_ values: Value...) -> Value { values[Int(generator.next() % UInt64(values.count))] }
}

/// What happens at a time.
struct Event {
    var time: Double
    /// Which device it reaches.
    var device = 0
    /// What it is about.
    var key = 0
    /// How many messages come; none if a lane is to be asked again.
    var count = 1
    /// Whether no handler caused it.
    var isHonest = false
    var order = 0
}

/// The events to come: a binary heap, those of one time in the order in which they were added.
struct Agenda {
    private var events: [Event] = []
    private var order = 0

    var nextTime: Double { events.first?.time ?? .infinity }

    private func isBefore(_ one: Int, _ other: Int) -> Bool {
        (events[one].time, events[one].order) < (events[other].time, events[other].order)
    }

    mutating func add(_ event: Event) {
        order += 1
        events.append(event)
        events[events.count - 1].order = order
        var place = events.count - 1
        while place > 0, isBefore(place, (place - 1) / 2) {
            events.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    mutating func next() -> Event {
        events.swapAt(0, events.count - 1)
        let first = events.removeLast()
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2] where child < events.count && isBefore(child, least) {
                least = child
            }
            if least == place { return first }
            events.swapAt(place, least)
            place = least
        }
    }
}
