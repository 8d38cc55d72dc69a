import CLibrary
import Synchronization

/// A temporary lack of a resource, which ends by itself; work that waits for it has not failed.
public struct Shortage: Sendable, Hashable {
    /// A missing resource.
    @nonexhaustive
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Open files: `EMFILE`, `ENFILE`.
        case descriptors
        /// Memory, threads or processes: `ENOMEM`, `ENOBUFS`, `EAGAIN`.
        case memory
        /// Space on the disk that keeps the state.
        case disk
        /// Space for printed messages.
        case output
        /// A reader of the log.
        case log
        /// A broker that accepts a transport and its subscription.
        case broker
    }

    /// The missing resource.
    public let kind: Kind
    /// When it began.
    public let since: UTCDate
    /// Its effect, in a line for people.
    public let detail: String
}

extension Shortage.Kind {
    /// The shortage that a system error indicates; nil for any other failure.
    package init?(_ number: ErrorNumber) {
        switch number.rawValue {
        case EMFILE, ENFILE: self = .descriptors
        case ENOMEM, ENOBUFS, EAGAIN: self = .memory
        default: return nil
        }
    }
}

/// A program's current shortages: the code that encounters one begins it, and the code that finds it over ends it.
///
/// ```swift
/// let shortages = Shortages { change in print(change) }
/// let actions = ProgramActions(shortages: shortages)
/// ```
///
/// It keeps at most one shortage of a kind, with its first description.
public final class Shortages: Sendable {
    /// A shortage has begun or ended.
    public enum Change: Sendable, Hashable, CustomStringConvertible {
        case began(Shortage)
        case ended(Shortage)

        /// One line for people.
        public var description: String {
            switch self {
            case .began(let shortage): "short of \(shortage.kind.rawValue): \(shortage.detail)"
            case .ended(let shortage):
                "no longer short of \(shortage.kind.rawValue), since \(shortage.since.shortText) it was"
            }
        }
    }

    private struct State {
        var current: [Shortage.Kind: Shortage] = [:]
        var begun: [Shortage.Kind: Int] = [:]
        var listener: (@Sendable (Change) -> Void)?
    }

    private let state: Mutex<State>
    private let wallClock: @Sendable () -> UTCDate

    /// Starts without shortages.
    ///
    /// - Parameters:
    ///   - listener: called once when a shortage begins and once when it ends, on the caller's thread; keep it short.
    ///   - wallClock: returns the time at which one begins.
    public init(
        _ listener: (@Sendable (Change) -> Void)? = nil, wallClock: @escaping @Sendable () -> UTCDate = { .now }
    ) {
        state = Mutex(State(listener: listener))
        self.wallClock = wallClock
    }

    /// Begins a shortage; one that has already begun is not reported again.
    ///
    /// - Parameters:
    ///   - kind: the missing resource.
    ///   - detail: its effect, in a line for people, without anything of a payload.
    public func begin(_ kind: Shortage.Kind, _ detail: String) {
        let shortage = Shortage(kind: kind, since: wallClock(), detail: EscapedText(detail).description)
        let listener: (@Sendable (Change) -> Void)? = state.withLock { state in
            guard state.current[kind] == nil else { return nil }
            state.current[kind] = shortage
            state.begun[kind, default: 0] += 1
            return state.listener
        }
        listener?(.began(shortage))
    }

    /// Ends a shortage; does nothing if there is none of this kind.
    ///
    /// - Parameter kind: the resource that is available again.
    public func end(_ kind: Shortage.Kind) {
        let (shortage, listener) = state.withLock { state in (state.current.removeValue(forKey: kind), state.listener) }
        if let shortage { listener?(.ended(shortage)) }
    }

    /// The current shortages, the longest first.
    public var current: [Shortage] { state.withLock { $0.current.values.sorted { $0.since < $1.since } } }

    /// Whether a resource is missing now.
    ///
    /// - Parameter kind: the resource.
    /// - Returns: whether it is missing.
    public func isShort(of kind: Shortage.Kind) -> Bool { state.withLock { $0.current[kind] != nil } }

    package func begun(_ kind: Shortage.Kind) -> Int { state.withLock { $0.begun[kind] ?? 0 } }
}
