import Glibc

/// When clients are taken on again after the system had no descriptor or memory for one.
struct AcceptPause {
    /// How long nobody tries after a failure.
    static let length = Duration.milliseconds(500)

    private let shortages: Shortages?
    private let what: String
    private var end: ContinuousClock.Instant?
    /// What was lacking when it was tried last.
    private var lack: Shortage.Kind?

    /// Begins without a pause.
    ///
    /// - Parameters:
    ///   - shortages: notified when clients cannot be accepted, and when they can again.
    ///   - what: who cannot come in meanwhile, in words.
    init(_ shortages: Shortages?, what: String) {
        self.shortages = shortages
        self.what = what
    }

    /// How long nobody is to try; nil when there is no pause.
    var left: Duration? { end.map { max(ContinuousClock.now.duration(to: $0), .zero) } }

    /// Whether it is time to try again, also where no client waits: else a shortage would last until one comes.
    var isDue: Bool { left == .zero }

    /// Takes down why a client could not be taken on; false where that is no shortage, or nobody is told of those.
    mutating func failed(_ number: ErrorNumber) -> Bool {
        end = .now + Self.length
        lack = Shortage.Kind(number)
        guard let lack, let shortages else { return false }
        shortages.begin(lack, "\(what) cannot be accepted (\(number)); they wait")
        return true
    }

    /// Takes down that there was a descriptor for a client, whether one came or not.
    mutating func succeeded() {
        end = nil
        guard let lack else { return }
        shortages?.end(lack)
        self.lack = nil
    }
}
