public import KiiPush
import Synchronization

/// An inbox in memory, which lasts as long as the process: after that, senders must deliver unfinished payloads again.
///
/// The service itself keeps the payloads in memory, so the inbox only counts, and keeps up to 1,000 answers that were
/// not delivered yet; beyond that it forgets the oldest. Use it for transports that acknowledge a payload when it has
/// ended.
public final class InMemoryInbox: Inbox {
    private let last = Atomic<UInt64>(0)
    private let answers = Mutex<[UnsentAnswer]>([])

    private static let mostAnswers = 1000

    /// Makes an empty inbox.
    public init() {}

    /// False: a crash loses its payloads.
    public var isDurable: Bool { false }

    /// Numbers the payloads.
    public func add(_ payloads: [RawPayload]) -> [UInt64] {
        let count = UInt64(payloads.count)
        let end = last.add(count, ordering: .relaxed).newValue
        return Array(end - count + 1..<end + 1)
    }

    /// Keeps and forgets answers; of payloads it records nothing.
    public func record(_ records: [InboxRecord]) async {
        answers.withLock { answers in
            for record in records {
                switch record {
                case .answer(let answer) where !answers.contains { $0.id == answer.id }:
                    if answers.count == Self.mostAnswers { answers.removeFirst() }
                    answers.append(answer)
                case .answered(let id): answers.removeAll { $0.id == id }
                default: break
                }
            }
        }
    }

    /// None: there was no earlier process.
    public func entries(after id: UInt64, limit: Int) -> [InboxEntry] { [] }

    /// None: it keeps no payloads.
    public func entries(of ids: [UInt64]) -> [InboxEntry] { [] }

    /// The first answers for a sender; their payloads end at once.
    public func answers(of sender: String, limit: Int) -> [UnsentAnswer] {
        answers.withLock { Array($0.lazy.filter { $0.sender.isExactly(sender) }.prefix(limit)) }
    }
}
