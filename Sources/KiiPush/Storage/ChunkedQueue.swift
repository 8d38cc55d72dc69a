/// A first-in, first-out queue in chunks, so that it grows without moving its elements.
struct ChunkedQueue<Element> {
    private static var chunkSize: Int { 512 }
    /// The full chunks.
    private var chunks: [[Element]] = []
    /// The chunk that is being filled, separate from the others: an element is written to one array, not to an array in
    /// an array (46 instructions instead of 65).
    private var last: [Element] = []
    /// How many elements of the first chunk were removed.
    private var head = 0
    private(set) var count = 0

    var first: Element? { count == 0 ? nil : self[0] }

    /// The element with `index` others before it.
    subscript(index: Int) -> Element {
        let place = UInt(bitPattern: head &+ index)
        let (chunk, offset) = (Int(place / UInt(Self.chunkSize)), Int(place % UInt(Self.chunkSize)))
        return chunk == chunks.count ? last[offset] : chunks[chunk][offset]
    }

    mutating func append(_ element: Element) {
        if last.capacity == 0 { last.reserveCapacity(Self.chunkSize) }
        last.append(element)
        count += 1
        if last.count == Self.chunkSize {
            chunks.append(last)
            last = []
        }
    }

    mutating func popFirst() -> Element? {
        guard let element = first else { return nil }
        head += 1
        count -= 1
        if head == Self.chunkSize {
            chunks.removeFirst()
            head = 0
        }
        return element
    }
}
