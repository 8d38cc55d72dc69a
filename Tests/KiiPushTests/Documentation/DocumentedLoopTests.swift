import KiiPush
import KiiPushTesting
import Synchronization
import Testing

/// The code of the guides and doc comments that is about loops and handlers that borrow.
struct DocumentedLoopTests {
    private final class Counter: Sendable {
        let value = Atomic<Int>(0)
        func add(_ number: Int, ordering: AtomicUpdateOrdering) { value.add(number, ordering: .relaxed) }
    }

    @Test("a handler that borrows counts what it looks for, in a loop that takes a batch")
    func borrowing() async {
        let (receiver, counter) = (PushReceiver(), Counter())
        receiver.onLent(kind: .pushToApp, bucket: "readings") { event in
            if event.matches(.object, "main") { counter.add(1, ordering: .relaxed) }
        }
        let batch = ["main", "other", "main"].enumerated().map { number, object in
            PayloadFixture.pushToApp(
                bucket: "readings", object: object, sentAt: Int64(number), modifiedAt: Int64(number)
            ).payload(.long)
        }
        var loop = ReceiveLoop(receiver)
        let dispositions = await loop.receive(contentsOf: batch)
        #expect(dispositions == [.accept, .accept, .accept])
        #expect(counter.value.load(ordering: .relaxed) == 2)
    }
}
