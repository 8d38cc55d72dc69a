import CLibrary
public import KiiPush
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

        /// The shortage that a system error indicates; nil for any other failure.
        package init?(_ number: ErrorNumber) {
            switch number.rawValue {
            case EMFILE, ENFILE: self = .descriptors
            case ENOMEM, ENOBUFS, EAGAIN: self = .memory
            default: return nil
            }
        }
    }

    /// The missing resource.
    public let kind: Kind
    /// When it began.
    public let since: UTCDate
    /// Its effect, in a line for people.
    public let detail: String
}

/// A program's current shortages: the code that encounters one begins it, and the code that finds it over ends it.
///
/// ```swift
/// let shortages = Shortages { change in print(change) }
/// let actions = ProgramActions(shortages: shortages)
/// ```
///
/// It keeps at most one shortage of a kind, with its first description. What waits for open files, memory or output
/// tries again after twelve seconds at most, if a handler has a place, and begins the shortage again if it still lasts;
/// one of these that nobody has begun again for a minute counts as ended.
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
        var current: [Shortage.Kind: Current] = [:]
        var begun: [Shortage.Kind: Int] = [:]
    }

    private struct Current {
        let shortage: Shortage
        var lastBegun: MonotonicInstant
    }

    private let state = Mutex(State())
    private let listener: (@Sendable (Change) -> Void)?
    private let wallClock: @Sendable () -> UTCDate
    private let clock: any ReceiverClock

    /// Starts without shortages.
    ///
    /// - Parameters:
    ///   - listener: called once when a shortage begins and once when it ends, on the thread of a caller, which may
    ///     also be one that only reads ``current``: it must hold no lock that the listener takes.
    ///   - wallClock: returns the time at which one begins.
    ///   - clock: measures the minute.
    public init(
        _ listener: (@Sendable (Change) -> Void)? = nil, wallClock: @escaping @Sendable () -> UTCDate = { .now },
        clock: any ReceiverClock = SystemClock()
    ) {
        self.listener = listener
        self.wallClock = wallClock
        self.clock = clock
    }

    /// Begins a shortage, whose effect is a line for people without anything of a payload; one that has already begun
    /// is not reported again.
    public func begin(_ kind: Shortage.Kind, _ detail: String) {
        endUntried()
        let shortage = Shortage(kind: kind, since: wallClock(), detail: EscapedText(detail).description)
        let now = clock.now
        let isNew = state.withLock { state in
            let isNew = state.current[kind] == nil
            state.current[kind, default: Current(shortage: shortage, lastBegun: now)].lastBegun = now
            if isNew { state.begun[kind, default: 0] += 1 }
            return isNew
        }
        if isNew { listener?(.began(shortage)) }
    }

    /// Ends a shortage; does nothing if there is none of this kind.
    public func end(_ kind: Shortage.Kind) { end([kind]) { _ in true } }

    private func end(_ kinds: [Shortage.Kind], where isOver: (Current) -> Bool) {
        let ended = state.withLock { state in
            let ended = kinds.compactMap { state.current[$0] }.filter(isOver).map(\.shortage)
            for shortage in ended { state.current[shortage.kind] = nil }
            return ended
        }
        for shortage in ended { listener?(.ended(shortage)) }
    }

    /// The kinds that are tried again after a short pause.
    private static let triedAgain: [Shortage.Kind] = [.descriptors, .memory, .output]

    /// Ends the shortages that nobody tries any more, such as those of a message that was dead-lettered.
    private func endUntried() {
        let limit = clock.now.advanced(by: .seconds(-60))
        end(Self.triedAgain) { $0.lastBegun < limit }
    }

    /// The current shortages, the longest first.
    public var current: [Shortage] {
        endUntried()
        return state.withLock { $0.current.values.map(\.shortage).sorted { $0.since < $1.since } }
    }

    /// Whether a resource is missing now.
    package func isShort(of kind: Shortage.Kind) -> Bool {
        if Self.triedAgain.contains(kind) { endUntried() }
        return state.withLock { $0.current[kind] != nil }
    }

    package func begun(_ kind: Shortage.Kind) -> Int { state.withLock { $0.begun[kind] ?? 0 } }
}
