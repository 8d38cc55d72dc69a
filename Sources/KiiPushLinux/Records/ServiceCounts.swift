public import KiiPush
import Synchronization

/// Counts what a service tells beside the outcomes, for a ``MetricsFile``.
///
/// ```swift
/// let counts = ServiceCounts()
/// service.onEvent { counts.count($0) }
/// ```
///
/// It keeps a few numbers for each transport, and nothing of what the events say.
public final class ServiceCounts: Sendable {
    /// The counts of one transport's events.
    struct Transport {
        var connected = 0
        var disconnected = 0
        var possibleGaps = 0
        var ignored = 0
    }

    struct State {
        var retries = 0
        var overruns = 0
        var storeFailures = 0
        var transports: [String: Transport] = [:]
    }

    private let state = Mutex(State())

    /// Begins at zero.
    public init() {}

    /// Counts an event.
    public func count(_ event: ServiceEvent) {
        state.withLock { state in
            switch event {
            case .retry: state.retries += 1
            // The one that is left has been counted when it was cancelled.
            case .overrun(_, _, let isLeft): state.overruns += isLeft ? 0 : 1
            case .storeFailed: state.storeFailures += 1
            case .notDurable: break
            case .transport(let name, let event):
                switch event {
                case .connected: state.transports[name, default: Transport()].connected += 1
                case .disconnected: state.transports[name, default: Transport()].disconnected += 1
                case .possibleGap: state.transports[name, default: Transport()].possibleGaps += 1
                case .ignored: state.transports[name, default: Transport()].ignored += 1
                }
            }
        }
    }

    var counts: State { state.withLock { $0 } }
}
