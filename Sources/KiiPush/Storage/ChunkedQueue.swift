/// A first-in, first-out queue in pieces, so that growing never moves what is in it.
struct ChunkedQueue<Element> {
    private static var chunkSize: Int { 512 }
    private var chunks: [[Element]] = []
    private var head = 0
    private(set) var count = 0

    var first: Element? { count == 0 ? nil : chunks[0][head] }

    /// The element with `index` others before it.
    subscript(index: Int) -> Element {
        let place = UInt(bitPattern: head &+ index)
        return chunks[Int(place / UInt(Self.chunkSize))][Int(place % UInt(Self.chunkSize))]
    }

    mutating func append(_ element: Element) {
        if chunks.last.map({ $0.count == Self.chunkSize }) ?? true {
            chunks.append([])
            chunks[chunks.count - 1].reserveCapacity(Self.chunkSize)
        }
        chunks[chunks.count - 1].append(element)
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard let element = first else { return nil }
        head += 1
        count -= 1
        if head == chunks[0].count {
            chunks.removeFirst()
            head = 0
        }
        return element
    }
}
