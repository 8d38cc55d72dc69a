/// Looks for a loop that runs among the honest messages of a trusted key.
///
/// As long as it is slower than the trust allows, such a loop passes, and a try cannot find it: of ten messages that
/// are tried, one belongs to the loop. But a loop raises the pace. So if more messages arrive than before, a
/// ``PauseSeries`` shows whether handling causes some of them.
struct TrustCheck {
    /// What follows for a message of the key.
    enum Step: Equatable {
        case passes
        /// It is held until the end of a short pause.
        case pauses(until: Int64)
        /// Handling causes about this share of the arrivals.
        case isLoop(share: Double)
        /// More messages arrive than before, but handling does not cause them.
        case isNone
    }

    /// The evidence that is enough for a verdict: for a loop, for one that was found before, and for none.
    ///
    /// None needs less the more pauses there were, so that a series ends.
    private static let loop = 12.0, loopAgain = 8.0, none = -3.0, nonePerPause = 1.0 / 15

    /// How many messages usually arrive, in how many seconds.
    private var usual: (count: Double, seconds: Double)
    /// Up to when arrivals count as usual, and when to compare the next time.
    private var usualUntil: Int64
    private var nextLook: Int64
    private var isFirstLook = true
    /// Whether a series has shown that the usual messages are caused elsewhere.
    private var isCleared = false
    private var series: PauseSeries?
    private let enough: Double

    /// Begins after a test that measured arrivals while nothing was handled, `idle`, and ended at `start`.
    ///
    /// If a loop was found before, with its share, the pauses begin at once.
    init(idle: CauseEvidence.Stretch, since start: Int64, foundShare: Double?, _ now: Int64) {
        usual = (Double(idle.arrived), idle.seconds)
        (usualUntil, nextLook) = (start, now)
        enough = foundShare == nil ? Self.loop : Self.loopAgain
        series = foundShare.map { PauseSeries(pace: usual.count / usual.seconds, share: $0, now) }
    }

    /// Judges a message that arrived.
    mutating func look(at record: ArrivalRecord, dispersion: Double, _ now: Int64) -> Step {
        if now >= nextLook {
            nextLook = now &+ .seconds(1)
            if series == nil { beginIfMoreArrive(record, dispersion, now) }
            if let verdict = weigh(record, dispersion, now) { return verdict }
        }
        return series?.pause(at: now).map { .pauses(until: $0) } ?? .passes
    }

    private mutating func beginIfMoreArrive(_ record: ArrivalRecord, _ dispersion: Double, _ now: Int64) {
        // At first, few arrivals were measured, and a loop may be among them, so a small rise is enough.
        let margin = isFirstLook ? 1 : isCleared || usual.seconds >= 300 ? 3 : 1.5
        for seconds in [10.0, 20, 60] where isFirstLook || now.since(usualUntil) >= .seconds(seconds) {
            let (count, time) = record.arrivals(from: max(usualUntil, now.since(.seconds(seconds))), to: now)
            let expected = usual.count / usual.seconds * time
            let spread = (dispersion * (expected + 0.5) * (1 + time / usual.seconds)).squareRoot()
            guard Double(count) > expected + margin * spread + 2 else { continue }
            let share = min(max(1 - expected / Double(count), 0.15), 0.8)
            series = PauseSeries(pace: Double(count) / time, share: share, now)
            return
        }
        guard isFirstLook || now.since(usualUntil) >= .seconds(60) else { return }
        isFirstLook = false
        addUsual(record, now)
    }

    /// Counts the arrivals since the last time as usual, with a memory of ten minutes.
    private mutating func addUsual(_ record: ArrivalRecord, _ now: Int64) {
        let (count, seconds) = record.arrivals(from: usualUntil, to: now)
        let kept = min(1, 600 / (usual.seconds + seconds))
        usual = ((usual.count + Double(count)) * kept, (usual.seconds + seconds) * kept)
        usualUntil = now
    }

    /// Weighs the evidence of the pauses; nil while it is undecided.
    private mutating func weigh(_ record: ArrivalRecord, _ dispersion: Double, _ now: Int64) -> Step? {
        guard let evidence = series?.weigh(record, dispersion: dispersion, now), let series else { return nil }
        if evidence >= enough { return .isLoop(share: series.share) }
        guard evidence <= Self.none + Self.nonePerPause * Double(series.weighed) else { return nil }
        // The higher pace is the usual one now.
        let (count, seconds) = record.arrivals(from: now.since(.seconds(60)), to: now)
        usual = (Double(count), seconds)
        usualUntil = now
        (self.series, isFirstLook, isCleared) = (nil, false, true)
        return .isNone
    }
}
