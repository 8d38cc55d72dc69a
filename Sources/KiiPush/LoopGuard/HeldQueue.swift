/// Held messages in order of arrival; taking the first costs the same however many there are.
///
/// Unlike ``ShortQueue`` it releases a taken message at once, because payloads count against the guard's budget.
struct HeldQueue {
    private var messages: [HeldMessage?] = []
    private var head = 0

    var count: Int { messages.count - head }
    var isEmpty: Bool { head == messages.count }
    var all: [HeldMessage] { messages[head...].compactMap { $0 } }

    var first: HeldMessage? { isEmpty ? nil : messages[head] }

    /// Adds a message after those that arrived before it.
    ///
    /// Nearly always that is the end. A message that another breaker held first is inserted before those that arrived
    /// after it, so that messages of one object keep their order for each route.
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

    /// Removes the first message that meets a condition, among the `most` oldest.
    mutating func take(amongOldest most: Int, where condition: (HeldMessage) -> Bool) -> HeldMessage? {
        let oldest = messages[head...].prefix(most)
        guard let index = oldest.firstIndex(where: { $0.map(condition) ?? false }) else { return nil }
        let taken = messages[index]
        for place in stride(from: index, to: head, by: -1) { messages[place] = messages[place - 1] }
        messages[head] = taken
        return popFirst()
    }

    /// Removes the messages that meet a condition.
    mutating func remove(where condition: (HeldMessage) -> Bool) -> [HeldMessage] {
        var (removed, kept): ([HeldMessage], [HeldMessage?]) = ([], [])
        for message in all { if condition(message) { removed.append(message) } else { kept.append(message) } }
        if !removed.isEmpty { (messages, head) = (kept, 0) }
        return removed
    }
}
