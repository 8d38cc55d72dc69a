/// How often a call is tried while Kii's servers answer 503, and how long the pauses are.
public struct RetrySettings: Sendable, Hashable {
    /// The most times that a call is sent, at least 1.
    public let attempts: Int
    /// The pause before the second time; each further one is twice as long.
    public let pause: Duration
    /// The longest pause; a server that asks for a longer one gets no further try.
    public let longestPause: Duration

    /// Five times, with pauses of 1, 2, 4 and 8 seconds and up to a fifth more or less.
    public static let standard = RetrySettings()

    /// Sets how often, and how long in between.
    public init(attempts: Int = 5, pause: Duration = .seconds(1), longestPause: Duration = .seconds(30)) {
        self.attempts = max(attempts, 1)
        self.pause = max(pause, .zero)
        self.longestPause = max(longestPause, .zero)
    }

    /// The pause behind so many attempts, from 1; a jitter from -1 to 1 changes it by up to a fifth: a fleet that was
    /// cut off at once must not come back at once.
    func pause(behind sent: Int, jitter: Double) -> Duration {
        min(pause * (1 << min(sent - 1, 20)), longestPause) * (1 + 0.2 * jitter)
    }
}

/// What is done about a call that failed: tells, and does nothing itself.
struct CallAttempts {
    enum Step: Equatable {
        /// The error is the caller's.
        case fail
        /// The same again, after a pause.
        case wait(Duration)
        /// The same again with another token.
        case renewToken
    }

    private let settings: RetrySettings
    private var sent = 0
    private var hasRenewed = false

    init(_ settings: RetrySettings) { self.settings = settings }

    /// What to do behind a failed attempt.
    ///
    /// - Parameters:
    ///   - error: why it failed.
    ///   - jitter: a number from -1 to 1, by which a pause of our own varies by up to a fifth.
    /// - Returns: the next step.
    mutating func step(after error: CloudError, jitter: Double) -> Step {
        // Another token is asked for once; what the server says of that one counts.
        if error.isTokenEnded, !hasRenewed {
            hasRenewed = true
            return .renewToken
        }
        sent += 1
        guard error.isTemporary, sent < settings.attempts else { return .fail }
        if let seconds = error.retryAfter {
            let wait = Duration.seconds(seconds)
            return wait <= settings.longestPause ? .wait(wait) : .fail
        }
        return .wait(settings.pause(behind: sent, jitter: jitter))
    }
}
