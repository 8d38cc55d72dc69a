import Glibc
import Synchronization

/// What a program lacks for a while; a state that ends by itself, and no failure of what has to wait for it.
public struct Shortage: Sendable, Hashable {
    /// What is lacking.
    @nonexhaustive
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Open files: `EMFILE`, `ENFILE`.
        case descriptors
        /// Memory, threads or processes: `ENOMEM`, `ENOBUFS`, `EAGAIN`.
        case memory
        /// Room on the disk that keeps the state.
        case disk
        /// Room where messages are printed.
        case output
        /// A reader of the log.
        case log
        /// A broker that lets a transport in, and has it subscribe.
        case broker
    }

    /// What is lacking.
    public let kind: Kind
    /// Since when.
    public let since: UTCDate
    /// What that means, in a line for people.
    public let detail: String
}

extension Shortage.Kind {
    /// The shortage of which a system call tells; nil for any other failure.
    init?(_ number: ErrorNumber) {
        switch number.rawValue {
        case EMFILE, ENFILE: self = .descriptors
        case ENOMEM, ENOBUFS, EAGAIN: self = .memory
        default: return nil
        }
    }
}

/// What a program lacks now: whoever meets a shortage begins it, and whoever finds that it is over ends it.
///
/// ```swift
/// let shortages = Shortages { change in print(change) }
/// let actions = ProgramActions(shortages: shortages)
/// ```
///
/// It keeps one shortage of a kind at most, with the words of its beginning.
public final class Shortages: Sendable {
    /// That a shortage has begun or ended.
    public enum Change: Sendable, Hashable, CustomStringConvertible {
        case began(Shortage)
        case ended(Shortage)

        /// One line for a person.
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

    /// Begins without a shortage.
    ///
    /// - Parameters:
    ///   - listener: called once when a shortage begins and once when it ends, by whoever meets it; keep it short.
    ///   - wallClock: tells since when one lasts.
    public init(
        _ listener: (@Sendable (Change) -> Void)? = nil, wallClock: @escaping @Sendable () -> UTCDate = { .now }
    ) {
        state = Mutex(State(listener: listener))
        self.wallClock = wallClock
    }

    /// Takes down that something is lacking; what is known to be lacking already is not told again.
    ///
    /// - Parameters:
    ///   - kind: what is lacking.
    ///   - detail: what that means, in a line for people, without anything of a payload.
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

    /// Takes down that something is there again; does nothing when it was not lacking.
    ///
    /// - Parameter kind: what is there.
    public func end(_ kind: Shortage.Kind) {
        let (shortage, listener) = state.withLock { state in (state.current.removeValue(forKey: kind), state.listener) }
        if let shortage { listener?(.ended(shortage)) }
    }

    /// What is lacking now, the longest first.
    public var current: [Shortage] { state.withLock { $0.current.values.sorted { $0.since < $1.since } } }

    /// Whether something of this kind is lacking now.
    ///
    /// - Parameter kind: what may be lacking.
    /// - Returns: whether it is.
    public func isShort(of kind: Shortage.Kind) -> Bool { state.withLock { $0.current[kind] != nil } }

    /// How many shortages of a kind have begun.
    func begun(_ kind: Shortage.Kind) -> Int { state.withLock { $0.begun[kind] ?? 0 } }
}
