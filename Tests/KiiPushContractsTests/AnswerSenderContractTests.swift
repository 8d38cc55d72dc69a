import KiiPush
import KiiPushContracts
import Synchronization
import Testing

/// The contract of a sender of answers, and each of its guarantees broken.
@Suite(.timeLimit(.minutes(1)))
struct AnswerSenderContractTests {
    private typealias MyBench = Wire

    @Test("my sender meets the guarantees of a sender of answers")
    func guarantees() async {
        await AnswerSenderContract { MyBench() }.verify()
    }

    @Test("a sender that throws without a connection meets them, too")
    func throwing() async { await AnswerSenderContract { Wire(waits: false) }.verify() }

    @Test("each fault of a sender breaks its guarantee", arguments: Wire.Fault.allCases)
    func broken(fault: Wire.Fault) async {
        var broken: [String] = []
        await AnswerSenderContract { Wire(fault) }.verify(patience: .milliseconds(200)) { promise, _ in
            broken.append(promise)
        }
        #expect(broken == [fault.promise])
    }
}

/// A sender of answers and its other end, with a fault or none.
final class Wire: AnswerSender, AnswerBench {
    enum Fault: CaseIterable {
        case namesAddress, takesNothing, losesOne, returnsEarly, refuses, ignoresCancellation

        var promise: String {
            switch self {
            case .namesAddress: "its name is a valid metrics label without an address"
            case .takesNothing: "it takes a command that it can answer"
            case .losesOne: "each answer arrives"
            case .returnsEarly, .refuses: "without a connection it waits or throws, and the answer can be sent later"
            case .ignoresCancellation: "it returns soon after its task is cancelled"
            }
        }
    }

    private struct NoConnection: Error {}

    private let fault: Fault?
    private let waits: Bool
    private let state = Mutex((isCut: false, received: Set<UInt64>()))

    init(_ fault: Fault? = nil, waits: Bool = true) { (self.fault, self.waits) = (fault, waits) }

    var sender: any AnswerSender { self }
    var name: String { fault == .namesAddress ? "wire://1.2.3.4" : "wire" }
    let command = RawPayload(#"{"level": 3}"#)

    func takes(_ message: PushMessage) -> Bool { fault != .takesNothing }

    func send(_ answer: UnsentAnswer) async throws {
        if fault == .losesOne, answer.id == 2 { return }
        let end = ContinuousClock.now + .seconds(2)
        while state.withLock(\.isCut), .now < end {
            switch fault {
            case .returnsEarly: return
            case .refuses: throw AnswerRefused("there is no connection")
            case .ignoresCancellation: await Task { try? await Task.sleep(for: .milliseconds(5)) }.value
            default:
                guard waits else { throw NoConnection() }
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        state.withLock { _ = $0.received.insert(answer.id) }
    }

    func received() -> Int { state.withLock { $0.received.count } }
    func cut() { state.withLock { $0.isCut = true } }
    func mend() { state.withLock { $0.isCut = false } }
}
