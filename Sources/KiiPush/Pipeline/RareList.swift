import Synchronization

/// A list that is nearly always empty, which costs no lock to find out.
struct RareList<Element: Sendable>: ~Copyable, Sendable {
    private let elements = Mutex<[Element]>([])
    private let total = Atomic(0)

    var count: Int { total.load(ordering: .relaxed) }
    var isEmpty: Bool { count == 0 }

    /// Reads or changes the elements, with exclusive access to them.
    @discardableResult
    func change<Result: Sendable>(_ body: (inout [Element]) -> Result) -> Result {
        elements.withLock { elements in
            defer { total.store(elements.count, ordering: .relaxed) }
            return body(&elements)
        }
    }
}
