import Testing

@testable import KiiPush

struct ShortQueueTests {
    private final class Element {}

    @Test("holds on to no element that was removed")
    func releases() {
        var queue = ShortQueue<Element>()
        weak var first: Element?
        for number in 0..<10 {
            let element = Element()
            if number == 0 { first = element }
            queue.append(element)
        }
        #expect(first != nil)
        _ = queue.popFirst()
        #expect(first == nil && queue.count == 9)
    }
}
