/// Held messages in the order in which they came; taking the first costs the same however many there are.
///
/// Unlike ``ShortQueue`` it lets go at once of what is taken, since payloads count for the guard's budget.
struct HeldQueue {
    private var messages: [HeldMessage?] = []
    private var head = 0

    var count: Int { messages.count - head }
    var isEmpty: Bool { head == messages.count }
    var all: [HeldMessage] { messages[head...].compactMap { $0 } }

    var first: HeldMessage? { isEmpty ? nil : messages[head] }

    /// Adds a message behind those that came before it.
    ///
    /// Nearly always that is the end. One that another breaker has held first comes late, and goes before those that
    /// came after it: so messages of one object keep their order for each route.
    mutating func insert(_ message: HeldMessage) {
        var index = messages.count
        while index > head, let other = messages[index - 1], other.receiver == message.receiver,
            other.messageID > message.messageID
        { index -= 1 }
        messages.insert(message, at: index)
    }

    mutating func popFirst() -> HeldMessage? {
        guard head < messages.count else { return nil }
        let first = messages[head]
        messages[head] = nil
        head += 1
        if head > 32, head * 2 >= messages.count {
            messages.removeFirst(head)
            head = 0
        }
        return first
    }

    /// Takes the first one out that a condition holds for, among so many of the oldest; those before it move up.
    mutating func take(amongOldest most: Int, where condition: (HeldMessage) -> Bool) -> HeldMessage? {
        let oldest = messages[head...].prefix(most)
        guard let index = oldest.firstIndex(where: { $0.map(condition) ?? false }) else { return nil }
        let taken = messages[index]
        for place in stride(from: index, to: head, by: -1) { messages[place] = messages[place - 1] }
        messages[head] = taken
        return popFirst()
    }

    /// Takes out those that a condition holds for.
    mutating func remove(where condition: (HeldMessage) -> Bool) -> [HeldMessage] {
        var (removed, kept): ([HeldMessage], [HeldMessage?]) = ([], [])
        for message in all { if condition(message) { removed.append(message) } else { kept.append(message) } }
        if !removed.isEmpty { (messages, head) = (kept, 0) }
        return removed
    }
}
