import Glibc
import KiiPush
import KiiPushAgent
import KiiPushContracts
import KiiPushDelivery
import Synchronization
import Testing

@testable import KiiPushTestSupport

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
        await TransportContract { FaultyBench(fault: fault) }.verify(patience: .milliseconds(200)) { promise, _ in
            broken.withLock { _ = $0.insert(promise) }
        }
        let promises = broken.withLock { $0 }
        #expect(promises.contains { $0.hasPrefix(fault.promise) }, "broken: \(promises.sorted())")
    }

    @Test(
        "that a transport has ended by itself is told with what it did not do",
        arguments: [
            (FaultyTransport.Fault.throwsAtOnce, "; its run threw WasCancelled()"),
            (.returnsAtOnce, "; its run has returned"),
        ])
    func ended(fault: FaultyTransport.Fault, words: String) async {
        let told = Mutex<[String]>([])
        await TransportContract { FaultyBench(fault: fault) }.verify(patience: .milliseconds(200)) { _, what in
            told.withLock { $0.append(what) }
        }
        #expect(told.withLock { $0 }.contains { $0.hasSuffix(words) }, "\(told.withLock { $0 })")
    }
}

final class LinesBench: TransportBench {
    let transport: any PushTransport
    let endsWhenCut = true
    private let pipe: Mutex<Pipe>

    init() throws {
        let pipe = try Pipe()
        transport = LinesTransport(descriptor: pipe.readEnd)
        self.pipe = Mutex(pipe)
    }

    func send(_ payloads: [[UInt8]]) {
        pipe.withLock { $0.write(payloads.map { String(decoding: $0, as: UTF8.self) + "\n" }.joined()) }
    }

    func answers() -> TransportAnswers { TransportAnswers() }

    func cut() { pipe.withLock { $0.endInput() } }
}

final class SocketBench: TransportBench {
    let transport: any PushTransport
    let endsWhenCut = false
    private let folder: Folder
    private let state = Mutex(State())

    private struct State {
        var peer: SocketPeer?
        var heard = TransportAnswers()
    }

    init() throws {
        let folder = try Folder()
        self.folder = folder
        transport = SocketTransport(path: folder["s"], answerAfter: .milliseconds(20))
    }

    func send(_ payloads: [[UInt8]]) async throws {
        let text = payloads.map { String(decoding: $0, as: UTF8.self) + "\n" }.joined()
        var failure: (any Error)?
        let isSent = await comes {
            state.withLock { state in
                do { state.peer = try state.peer ?? SocketPeer(folder["s"]) } catch { failure = error }
                state.peer?.send(text)
                return state.peer != nil
            }
        }
        if !isSent, let failure { throw failure }
    }

    func answers() -> TransportAnswers {
        state.withLock { state in
            while let answer = state.peer?.answerIfAny() {
                if answer.contains(#""disposition":"retryLater""#) {
                    state.heard.refused += 1
                } else {
                    state.heard.acknowledged += 1
                }
            }
            return state.heard
        }
    }

    func cut() {
        state.withLock { state in
            state.peer?.hangUp()
            state.peer = nil
        }
    }
}

/// A transport in memory, with at most one thing wrong with it.
struct FaultyTransport: PushTransport {
    enum Fault: CaseIterable, Sendable {
        case badName, reorders, changesBytes, handsOverTooMany, losesWhenFull, spins, neverTries
        case acknowledgesAtOnce, acknowledgesRetries, acknowledgesLeft, acknowledgesFailures, acknowledgesStopping
        case neverAcknowledges, neverRefuses, refusesRejected, ignoresStored, doesNotRedeliver
        case ignoresCancelling, throwsWhenCancelled, endsWhenCut, acknowledgesAtTheEnd
        case throwsAtOnce, returnsAtOnce

        /// How the text of a promise that it breaks begins.
        var promise: String {
            switch self {
            case .badName: "its name is a valid"
            case .reorders, .changesBytes, .throwsAtOnce, .returnsAtOnce: "payloads of one sender"
            case .handsOverTooMany: "at most 64"
            case .losesWhenFull: "while the intake is full nothing is lost"
            case .spins, .neverTries: "while the intake is full it waits"
            case .acknowledgesAtOnce, .neverAcknowledges, .refusesRejected: "a payload that is not stored"
            case .acknowledgesRetries, .neverRefuses, .doesNotRedeliver: "a payload that is to be tried later"
            case .acknowledgesLeft: "a payload that the service left"
            case .acknowledgesFailures: "payloads that the inbox could not store"
            case .acknowledgesStopping: "payloads that a stopping service"
            case .ignoresStored: "a stored payload"
            case .ignoresCancelling, .throwsWhenCancelled: "it returns soon"
            case .endsWhenCut: "after the sender cuts"
            case .acknowledgesAtTheEnd: "after it was cancelled it acknowledges"
            }
        }
    }

    struct WasCancelled: Error {}

    let link: MemoryLink
    let fault: Fault?

    var name: String { fault == .badName ? "host.example:1883" : "memory-1" }
    var abilities: TransportAbilities { [.acknowledges, .refuses, .redelivers] }

    func run(_ intake: PushIntake) async throws {
        if fault == .throwsAtOnce { throw WasCancelled() }
        if fault == .returnsAtOnce { return }
        while let batch = await link.next(
            fault == .handsOverTooMany ? 100 : 64, endsWhenCut: fault == .endsWhenCut)
        {
            if !(await handOver(batch, intake)) { break }
        }
        if fault == .acknowledgesAtTheEnd { link.answer { $0.acknowledged += 1 } }
        if fault == .ignoresCancelling { await link.never() }
        if fault == .throwsWhenCancelled { throw WasCancelled() }
    }

    /// Hands payloads over; false when the transport is to end.
    private func handOver(_ payloads: [[UInt8]], _ intake: PushIntake) async -> Bool {
        var rest = fault == .reorders ? payloads.reversed() : payloads
        if fault == .changesBytes { rest = rest.map { $0 + [0x20] } }
        var count = rest.count
        while !rest.isEmpty {
            do throws(IntakeRefusal) {
                let receipts = try intake.submit(rest.prefix(count).map { RawPayload($0) })
                for (payload, receipt) in zip(rest, receipts) { watch(payload, receipt) }
                rest.removeFirst(receipts.count)
                count = rest.count
            } catch {
                switch error {
                case .full where count > 1 && fault != .handsOverTooMany: count /= 2
                case .full:
                    if fault == .losesWhenFull { return true }
                    if fault == .neverTries { return await link.never() }
                    if fault != .spins { await link.room(intake) } else { await Task.yield() }
                    if Task.isCancelled { return false }
                case .failed, .stopping:
                    let isFailure = if case .failed = error { true } else { false }
                    let isTaken = isFailure ? fault == .acknowledgesFailures : fault == .acknowledgesStopping
                    link.answer { isTaken ? ($0.acknowledged += 1) : ($0.refused += 1) }
                    return true
                }
            }
        }
        return true
    }

    private func watch(_ payload: [UInt8], _ receipt: Receipt) {
        let isStored = receipt.isStored && fault != .ignoresStored && fault != .neverAcknowledges
        if isStored || fault == .acknowledgesAtOnce { return link.answer { $0.acknowledged += 1 } }
        receipt.onEnd { outcome in
            switch outcome?.disposition {
            case .accept where fault != .neverAcknowledges: link.answer { $0.acknowledged += 1 }
            case .reject where fault != .refusesRejected && fault != .neverAcknowledges:
                link.answer { $0.acknowledged += 1 }
            case .retryLater where fault == .acknowledgesRetries: link.answer { $0.acknowledged += 1 }
            case .none where fault == .acknowledgesLeft: link.answer { $0.acknowledged += 1 }
            default:
                if fault != .neverRefuses { link.answer { $0.refused += 1 } }
                if fault != .doesNotRedeliver, outcome?.disposition == .retryLater { link.send([payload]) }
            }
        }
    }
}

/// What joins a ``FaultyTransport`` and its bench.
final class MemoryLink: Sendable {
    private struct State {
        var payloads: [[UInt8]] = []
        var heard = TransportAnswers()
        var wasCut = false
    }

    private let state = Mutex(State())

    var heard: TransportAnswers { state.withLock { $0.heard } }
    var wasCut: Bool { state.withLock { $0.wasCut } }

    func send(_ payloads: [[UInt8]]) { state.withLock { $0.payloads += payloads } }
    func cut() { state.withLock { $0.wasCut = true } }
    func answer(_ change: (inout TransportAnswers) -> Void) { state.withLock { change(&$0.heard) } }

    /// What was sent, at most so many; nil when the task is cancelled, or the link is cut.
    func next(_ count: Int, endsWhenCut: Bool) async -> [[UInt8]]? {
        while !Task.isCancelled {
            // First, or what is sent after the cut could hide that it ends.
            if endsWhenCut, wasCut { return nil }
            let batch = state.withLock { state in
                defer { state.payloads = Array(state.payloads.dropFirst(count)) }
                return Array(state.payloads.prefix(count))
            }
            if !batch.isEmpty { return batch }
            try? await Task.sleep(for: .milliseconds(1))
        }
        return nil
    }

    /// Waits until there is room, or the task is cancelled.
    func room(_ intake: PushIntake) async {
        let (waiting, room) = AsyncStream<Never>.makeStream()
        intake.whenRoom { room.finish() }
        for await _ in waiting {}
    }

    /// Goes on until it is released, whether or not the task is cancelled.
    @discardableResult
    func never() async -> Bool {
        await withCheckedContinuation { (waiter: CheckedContinuation<Void, Never>) in
            Self.stuck.withLock { $0.append(waiter) }
        }
        return false
    }

    /// Those who never return; kept, so that nothing complains of it.
    private static let stuck = Mutex<[CheckedContinuation<Void, Never>]>([])
}

struct FaultyBench: TransportBench {
    let link = MemoryLink()
    var fault: FaultyTransport.Fault?

    var transport: any PushTransport { FaultyTransport(link: link, fault: fault) }
    var endsWhenCut: Bool { false }

    func send(_ payloads: [[UInt8]]) { link.send(payloads) }
    func answers() -> TransportAnswers { link.heard }
    func cut() { link.cut() }
}
