/// Held messages in their order; taking the first costs the same however many there are.
struct HeldQueue {
    private var messages: [HeldMessage?] = []
    private var head = 0

    var count: Int { messages.count - head }
    var isEmpty: Bool { head == messages.count }
    var all: [HeldMessage] { messages[head...].compactMap { $0 } }

    func oldest(_ count: Int) -> [HeldMessage] { messages[head...].prefix(count).compactMap { $0 } }

    mutating func append(_ message: HeldMessage) { messages.append(message) }

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

    /// Takes out those that a condition holds for.
    mutating func remove(where condition: (HeldMessage) -> Bool) -> [HeldMessage] {
        var (removed, kept): ([HeldMessage], [HeldMessage?]) = ([], [])
        for message in all { if condition(message) { removed.append(message) } else { kept.append(message) } }
        if !removed.isEmpty { (messages, head) = (kept, 0) }
        return removed
    }
}
