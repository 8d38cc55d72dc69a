import KiiPush
import Synchronization

/// Takes many payloads in batches, in one task, and keeps only the messages that matter.
@main
struct ManyMessages {
    static func main() async {
        let receiver = PushReceiver(app: "0123abcd")
        let readings = Counter()
        // The handler writes nothing, so no message can cause another one.
        let options = RouteOptions(loop: RouteLoopPolicy(rate: .unlimited))
        receiver.onLent("readings", kind: .pushToApp, bucket: "readings", options: options) { event in
            readings.add()
            // Comparing makes no string, and `message` is made for the few that are kept.
            guard event.matches(.object, "smoke-7") else { return }
            print("\(event.message.object?.id ?? "?") was read at \(event.modifiedAt ?? 0)")
        }

        var loop = ReceiveLoop(receiver)
        var rejected = 0
        // A socket or a file would bring as many as it has; a broker would be told of each disposition.
        for first in stride(from: 0, to: 100_000, by: 500) {
            let batch = (first..<first + 500).map(payload)
            rejected += await loop.receive(contentsOf: batch).count { $0 != .accept }
        }
        print("\(readings.value) readings, \(rejected) rejected")
        print(receiver.metrics)
    }

    /// The payload of a number: each object of a thousand in turn; each tenth payload is sent twice.
    private static func payload(_ number: Int) -> RawPayload {
        let reading = number % 10 == 9 ? number - 1 : number
        let object = reading == 4_200 || reading == 84_200 ? "smoke-7" : "sensor-\(reading % 1000)"
        return RawPayload(
            """
            {"bucketID":"readings","objectID":"\(object)","objectScopeAppID":"0123abcd","objectScopeType":"APP",\
            "type":"DATA_OBJECT_UPDATED","modifiedAt":\(1_700_000_000_000 + reading),"when":\(1_700_000_000_500 + reading)}
            """)
    }
}

/// A number that handlers add to.
private final class Counter: Sendable {
    private let count = Atomic(0)
    var value: Int { count.load(ordering: .relaxed) }
    func add() { count.add(1, ordering: .relaxed) }
}
