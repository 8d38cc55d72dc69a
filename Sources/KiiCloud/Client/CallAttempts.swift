/// How often a call is retried while Kii's servers answer 503, and how long the pauses are.
public struct RetrySettings: Sendable, Hashable {
    /// The most attempts of a call, at least 1.
    public let attempts: Int
    /// The pause before the second attempt; each further one is twice as long.
    public let pause: Duration
    /// The longest pause; if a server asks for a longer one, the call is not retried.
    public let longestPause: Duration

    /// Five attempts, with pauses of 1, 2, 4 and 8 seconds, each up to a fifth more or less.
    public static let standard = RetrySettings()

    /// Sets the number of attempts and the pauses.
    public init(attempts: Int = 5, pause: Duration = .seconds(1), longestPause: Duration = .seconds(30)) {
        self.attempts = max(attempts, 1)
        self.pause = max(pause, .zero)
        self.longestPause = max(longestPause, .zero)
    }

    /// The pause after so many attempts, from 1; a jitter from -1 to 1 changes it by up to a fifth, so that a fleet
    /// that was cut off does not return all at once.
    func pause(behind sent: Int, jitter: Double) -> Duration {
        min(pause * (1 << min(sent - 1, 20)), longestPause) * (1 + 0.2 * jitter)
    }
}

/// Decides what to do about a failed call; performs nothing itself.
struct CallAttempts {
    enum Step: Equatable {
        /// Throws the error to the caller.
        case fail
        /// Retries after a pause.
        case wait(Duration)
        /// Retries with another token.
        case renewToken
    }

    private let settings: RetrySettings
    private var sent = 0
    private var hasRenewed = false

    init(_ settings: RetrySettings) { self.settings = settings }

    /// Decides the step after a failed attempt; the jitter, from -1 to 1, varies an own pause by up to a fifth.
    mutating func step(after error: CloudError, jitter: Double) -> Step {
        // A new token is requested once; the answer to that one is final.
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
