import Synchronization

/// One of those who handle what is ready, and what it has handled last.
///
/// The end of a message and the beginning of the next are taken down in one step, since each step may be a write to a
/// disk. One task at a time has it.
final class Worker: Sendable {
    private let ended = Mutex<EndedParcel?>(nil)

    /// Whether it has a message whose end is to be taken down.
    var hasEnded: Bool { ended.withLock { $0 != nil } }

    func keep(_ parcel: EndedParcel) { ended.withLock { $0 = parcel } }

    func take() -> EndedParcel? {
        ended.withLock { ended in
            defer { ended = nil }
            return ended
        }
    }
}

/// A parcel that has ended, as far as the chain knows, and lies in the inbox still.
struct EndedParcel: Sendable {
    let parcel: Parcel
    /// What the loop guard held it as; to be told its end.
    let held: HeldMessage?
    let outcome: Outcome
    /// How it ended for its transport, where that was before its held routes had it.
    let told: Outcome?
}
