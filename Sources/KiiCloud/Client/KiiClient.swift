public import KiiPush

/// Calls Kii's cloud over any transport, retries where that is safe, and renews tokens.
///
/// It retries a 503, after the time that the server names or after growing pauses, and replaces a refused token once.
/// It never retries a 429, nor a call without an answer: the caller knows whether that may happen twice. A write
/// cannot, if it has `ifMatch` or creates an object by its id: ``write(_:_:)`` retries those.
public struct KiiClient: Sendable {
    /// The app.
    public let app: KiiApp
    /// The user, thing or administrator whose tokens the client uses, as far as it was told; ``send(_:to:as:)`` checks
    /// their rights.
    public let me: Sender?
    private let transport: any HTTPTransport
    private let tokens: any TokenSource
    let settings: RetrySettings
    let clock: any Clock<Duration>

    /// Makes a client, with the user, thing or administrator whose tokens they are, if that is known here.
    ///
    /// `retries` says how often a 503 is retried; the clock measures the pauses.
    public init(
        _ app: KiiApp, transport: any HTTPTransport, tokens: any TokenSource, me: Sender? = nil,
        retries: RetrySettings = .standard, clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.app = app
        self.me = me
        self.transport = transport
        self.tokens = tokens
        settings = retries
        self.clock = clock
    }

    /// Makes a call and reads its answer.
    ///
    /// - Throws: ``CloudError``, an error of the transport or of the source of tokens, or `CancellationError`.
    @discardableResult
    public func perform<Answer>(_ call: CloudRequest<Answer>) async throws -> Answer {
        try await perform(renewingAfter: nil) { call }
    }

    /// Makes a call whose request is valid only for a while, such as one with a stamp.
    ///
    /// A request older than `age` is made again before it is sent; `noteOut` is called with true before a request is
    /// sent, and with false when its answer arrives.
    ///
    /// - Throws: the errors of ``perform(_:)``.
    func perform<Answer>(
        renewingAfter age: Duration?, whileOut noteOut: (Bool) -> Void = { _ in },
        _ make: () throws -> CloudRequest<Answer>
    ) async throws -> Answer {
        var (sent, hasRenewed) = (0, false)
        var token = try await tokens.token(replacing: nil)
        var (call, sinceMade) = (try make(), Self.stopwatch(clock))
        while true {
            if let age, sinceMade() > age { (call, sinceMade) = (try make(), Self.stopwatch(clock)) }
            do {
                let request = try call.request(to: app, token: token)
                noteOut(true)
                let response = try await transport.send(request)
                noteOut(false)
                return try call.answer(response)
            } catch let error as CloudError {
                // A new token is requested once; the answer to that one is final.
                if error.isTokenEnded, !hasRenewed {
                    hasRenewed = true
                    let renewed = try await tokens.token(replacing: token)
                    // The same token would be refused again.
                    guard renewed != token else { throw error }
                    token = renewed
                    continue
                }
                sent += 1
                guard let pause = settings.pause(behind: sent, error) else { throw error }
                try await clock.sleep(for: pause)
            }
        }
    }

    private static func stopwatch<Watch: Clock<Duration>>(_ clock: Watch) -> () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    /// Sends a push to a topic, if the check finds no problem.
    ///
    /// The sender is the identity whose token is used, if it is not ``me``. If neither is known, the check assumes one
    /// that may send to the topic.
    ///
    /// - Throws: ``RefusedMessage`` before anything is sent, or the errors of ``perform(_:)``.
    @discardableResult
    public func send(
        _ message: OutgoingMessage, to topic: KiiTopic, as sender: Sender? = nil
    ) async throws -> PushMessageID {
        try await send(to: topic, as: sender, renewingAfter: nil) { message }
    }

    /// Sends a push that is valid only for a while, such as one with a stamp.
    func send(
        to topic: KiiTopic, as sender: Sender?, renewingAfter age: Duration?, _ make: () -> OutgoingMessage
    ) async throws -> PushMessageID {
        let sender = sender ?? me ?? PushAddress.assumedSender(to: topic)
        return try await perform(renewingAfter: age) { try .checkedSend(make(), to: topic, as: sender, app: app.id) }
    }

    /// Waits until an installed device has its MQTT endpoint; nil if it was still not ready.
    ///
    /// It asks so many times, every three seconds unless the server says otherwise.
    ///
    /// - Throws: the errors of ``perform(_:)``.
    public func mqttEndpoint(of installation: String, attempts: Int = 20) async throws -> MQTTEndpoint? {
        for attempt in 1...max(attempts, 1) {
            switch try await perform(.mqttEndpoint(of: installation)) {
            case .ready(let endpoint): return endpoint
            case .notReady(let seconds):
                guard attempt < attempts else { return nil }
                try await clock.sleep(for: min(.seconds(seconds ?? 3), settings.longestPause))
            }
        }
        return nil
    }
}

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
        pause.doubled(sent - 1, upTo: longestPause) * (1 + 0.2 * jitter)
    }

    /// The pause that a server asks for, or else an own one; nil if the call is not to be tried again.
    fileprivate func pause(behind sent: Int, _ error: CloudError) -> Duration? {
        guard error.isTemporary, sent < attempts else { return nil }
        guard let seconds = error.retryAfter else { return pause(behind: sent, jitter: .random(in: -1...1)) }
        return .seconds(seconds) <= longestPause ? .seconds(seconds) : nil
    }
}

// A payload names these resources without their contents: these calls read the current state, and throw as `perform`.
extension KiiClient {
    /// Reads an object; nil if it does not exist, as after a push about its deletion.
    ///
    /// - Throws: the errors of ``perform(_:)``.
    public func refresh(_ object: KiiObject) async throws -> ObjectRecord? { try await perform(.readObject(object)) }

    /// Reads a user; nil if it does not exist.
    public func refresh(_ user: KiiUser) async throws -> UserRecord? { try await perform(.readUser(user)) }

    /// Reads a group; nil if it does not exist.
    public func refresh(_ group: KiiGroup) async throws -> GroupRecord? { try await perform(.readGroup(group)) }

    /// Reads a thing; nil if it does not exist.
    public func refresh(_ thing: KiiThing) async throws -> ThingRecord? { try await perform(.readThing(thing)) }
}
