import KiiPush
import Synchronization

/// One of those who handle what is ready, and what it has handled last.
///
/// The end of a message and the beginning of the next are taken down in one step, since each step may be a write to a
/// disk. One task at a time has it.
final class Worker: Sendable {
    private let last = Mutex<EndedParcel?>(nil)

    /// What has ended and is to be taken down; until then the worker runs no other handler, and nobody one of its lane.
    var ended: EndedParcel? { last.withLock { $0 } }

    func keep(_ ended: EndedParcel) { last.withLock { $0 = ended } }

    func take() -> EndedParcel? {
        last.withLock { last in
            defer { last = nil }
            return last
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
