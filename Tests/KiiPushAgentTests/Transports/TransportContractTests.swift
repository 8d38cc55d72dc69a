import KiiPushContracts
import Synchronization
import Testing

/// A contract that nothing can break proves nothing, so each promise is broken here.
@Suite(.timeLimit(.minutes(5)))
struct TransportContractTests {
    private typealias MyBench = FaultyBench

    @Test("my transport meets the guarantees of a transport")
    func guarantees() async {
        await TransportContract { MyBench() }.verify()
    }

    @Test("lines on standard input meet the contract of a transport")
    func lines() async { await TransportContract { try LinesBench() }.verify() }

    @Test("a Unix socket meets the contract of a transport")
    func socket() async { await TransportContract { try SocketBench() }.verify() }

    @Test("each fault of a transport breaks its guarantee", arguments: FaultyTransport.Fault.allCases)
    func broken(fault: FaultyTransport.Fault) async {
        let broken = Mutex<Set<String>>([])
        await TransportContract { FaultyBench(fault: fault) }.verify(
            patience: fault == .none ? .seconds(10) : .milliseconds(200)
        ) { promise, _ in
            broken.withLock { _ = $0.insert(promise) }
        }
        let promises = broken.withLock { $0 }
        if let promise = fault.promise {
            #expect(promises.contains { $0.hasPrefix(promise) }, "broken: \(promises.sorted())")
        } else {
            #expect(promises == [])
        }
    }
}
