/// A first-in, first-out queue in one array, for queues that are many and mostly short.
///
/// ``ChunkedQueue`` takes room for 512 elements at once; this one takes room for its elements, and taking one costs the
/// same however many there are, on average.
package struct ShortQueue<Element> {
    private var elements: [Element] = []
    /// How many elements at the beginning have been taken.
    private var head = 0

    package init() {}

    package var count: Int { elements.count - head }
    package var isEmpty: Bool { head == elements.count }
    package var first: Element? { isEmpty ? nil : elements[head] }

    package mutating func append(_ element: Element) { elements.append(element) }

    package mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[head]
        head += 1
        if head * 2 >= elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    /// Puts elements before all others, in their order.
    package mutating func putFirst(_ others: [Element]) {
        elements.replaceSubrange(0..<head, with: others)
        head = 0
    }

    /// Takes out the elements that `condition` holds for, in their order.
    package mutating func removeAll(where condition: (Element) -> Bool) -> [Element] {
        let removed = elements[head...].filter(condition)
        guard !removed.isEmpty else { return [] }
        elements = elements[head...].filter { !condition($0) }
        head = 0
        return removed
    }

    /// Takes all elements out.
    package mutating func removeAll() -> [Element] {
        defer { (elements, head) = ([], 0) }
        return Array(elements[head...])
    }
}
