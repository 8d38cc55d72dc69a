/// A first-in, first-out queue in one array: removing an element costs the same on average, however many there are.
///
/// What each message needs is inlinable, so that the service's module compiles it for its own elements: that saves a
/// sixteenth of its time.
@usableFromInline
package struct ShortQueue<Element> {
    /// The elements, behind places of removed ones, which hold nothing.
    @usableFromInline var elements: [Element?] = []
    /// How many elements at the beginning were removed.
    @usableFromInline var head = 0

    @inlinable package init() {}

    @inlinable package var count: Int { elements.count - head }
    @inlinable package var isEmpty: Bool { head == elements.count }
    @inlinable package var first: Element? { isEmpty ? nil : elements[head] }

    @inlinable package mutating func append(_ element: Element) { elements.append(element) }

    @inlinable package mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[head].take()
        head += 1
        if head * 2 >= elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    /// Puts elements before all others, in their order.
    package mutating func putFirst(_ others: [Element]) {
        elements.replaceSubrange(0..<head, with: others as [Element?])
        head = 0
    }

    /// All elements, in order.
    package var all: [Element] { elements[head...].compactMap(\.self) }

    /// Removes and returns the elements that `condition` holds for, in order.
    package mutating func removeAll(where condition: (Element) -> Bool) -> [Element] {
        let all = all
        let removed = all.filter(condition)
        guard !removed.isEmpty else { return [] }
        elements = all.filter { !condition($0) }
        head = 0
        return removed
    }
}
