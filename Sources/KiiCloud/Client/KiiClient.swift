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

    /// Makes a client.
    ///
    /// - Parameters:
    ///   - app: the app, and its site.
    ///   - transport: carries the requests.
    ///   - tokens: the source of tokens.
    ///   - me: the user, thing or administrator whose tokens they are; nil if it is not known here.
    ///   - retries: how often to retry a 503.
    ///   - clock: measures the pauses.
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
    /// - Parameter call: the call.
    /// - Returns: the call's result.
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
        var attempts = CallAttempts(settings)
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
                switch attempts.step(after: error, jitter: .random(in: -1...1)) {
                case .fail: throw error
                case .wait(let pause): try await clock.sleep(for: pause)
                case .renewToken:
                    let renewed = try await tokens.token(replacing: token)
                    // The same token would be refused again.
                    guard renewed != token else { throw error }
                    token = renewed
                }
            }
        }
    }

    /// Returns the time since this call.
    private static func stopwatch<Watch: Clock<Duration>>(_ clock: Watch) -> () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    /// Sends a push to a topic, if the check finds no problem.
    ///
    /// - Parameters:
    ///   - message: the push.
    ///   - topic: the topic.
    ///   - sender: the identity whose token is used, if it is not ``me``. If neither is known, the check assumes one
    ///     that may send to the topic.
    /// - Returns: the push's id.
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
        // Any time has the same number of digits.
        let sender = sender ?? me ?? PushAddress.assumedSender(to: topic)
        let address = PushAddress(app: app.id, topic: topic, sender: sender, sentAt: 1_700_000_000_000)
        return try await perform(renewingAfter: age) {
            let message = make()
            let problems = message.problems(sentTo: address).filter { !$0.isWarning }
            guard problems.isEmpty else { throw RefusedMessage(problems: problems) }
            return .send(message, to: topic)
        }
    }

    /// Waits until an installed device has its MQTT endpoint.
    ///
    /// - Parameters:
    ///   - installation: the installation's id.
    ///   - attempts: how often to ask, every three seconds unless the server says otherwise.
    /// - Returns: the endpoint; nil if it was still not ready.
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

/// A push that was not sent because Kii would refuse it.
public struct RefusedMessage: Error, Sendable, Hashable, CustomStringConvertible {
    /// The problems; at least one.
    public let problems: [SendProblem]

    /// The problems, a line each.
    public var description: String { problems.map(\.description).joined(separator: "\n") }
}
