import KiiPushSystem

/// The pause in accepting clients after the system had no descriptor or memory for one.
struct AcceptPause {
    static let length = Duration.milliseconds(500)

    private let shortages: Shortages?
    private let what: String
    private var end: ContinuousClock.Instant?
    /// What was missing at the last attempt.
    private var lack: Shortage.Kind?

    /// Starts without a pause; `what` describes the affected clients in reports of a shortage.
    init(_ shortages: Shortages?, what: String) {
        (self.shortages, self.what) = (shortages, what)
    }

    /// The rest of the pause; nil if there is none.
    var left: Duration? { end.map { max(ContinuousClock.now.duration(to: $0), .zero) } }

    /// Whether to retry now, even if no client waits: otherwise a shortage would last until one comes.
    var isDue: Bool { left == .zero }

    /// Records why a client could not be accepted; false if that is not a shortage, or nobody is notified of those.
    mutating func failed(_ number: ErrorNumber) -> Bool {
        end = .now + Self.length
        let kind = Shortage.Kind(number)
        if let lack, lack != kind { shortages?.end(lack) }
        lack = kind
        guard let lack, let shortages else { return false }
        shortages.begin(lack, "\(what) cannot be accepted (\(number)); they wait")
        return true
    }

    /// Records that there was a descriptor for a client, whether one came or not.
    mutating func succeeded() {
        end = nil
        guard let lack else { return }
        shortages?.end(lack)
        self.lack = nil
    }
}
