public import KiiPush
import Synchronization

/// An inbox that lives as long as the process: what is in flight when that ends is the sender's to bring again.
///
/// The service itself keeps the payloads in memory, so this one only counts; for transports that acknowledge a payload
/// when it has ended.
public final class InMemoryInbox: Inbox {
    private let last = Atomic<UInt64>(0)

    /// Makes an empty inbox.
    public init() {}

    /// False: a crash loses what it keeps.
    public var isDurable: Bool { false }

    /// Gives the payloads numbers.
    public func add(_ payloads: [RawPayload]) -> [UInt64] {
        let count = UInt64(payloads.count)
        let end = last.add(count, ordering: .relaxed).newValue
        return Array(end - count + 1..<end + 1)
    }

    /// Does nothing.
    public func record(_ records: [InboxRecord]) async {}

    /// None: there was no earlier process.
    public func entries(after id: UInt64, limit: Int) -> [InboxEntry] { [] }

    /// None: it keeps no payloads.
    public func entries(of ids: [UInt64]) -> [InboxEntry] { [] }
}
