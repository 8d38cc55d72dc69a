public import KiiPush
import Synchronization

/// An inbox in memory, which lasts as long as the process: after that, senders must deliver unfinished payloads again.
///
/// The service itself keeps the payloads in memory, so the inbox only counts. Use it for transports that acknowledge a
/// payload when it has ended.
public final class InMemoryInbox: Inbox {
    private let last = Atomic<UInt64>(0)

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

    /// Does nothing.
    public func record(_ records: [InboxRecord]) async {}

    /// None: there was no earlier process.
    public func entries(after id: UInt64, limit: Int) -> [InboxEntry] { [] }

    /// None: it keeps no payloads.
    public func entries(of ids: [UInt64]) -> [InboxEntry] { [] }
}
