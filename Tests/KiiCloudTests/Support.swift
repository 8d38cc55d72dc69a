import KiiCloud
import KiiCloudTesting
import KiiPush
import Synchronization

/// What the tests send, and where to.
enum Samples {
    /// The address of the payload that Kii's guide on sending shows.
    static let documented = PushAddress(
        app: "9a2385ce",
        topic: KiiTopic(scope: .user(KiiUser(id: "e26ad504-8100-4056-b3d3-xxxxxxxxxxxx")), name: "MyTopic"),
        sender: .user(id: "cf6de5b5-8927-48a4-a410-xxxxxxxxxxxx"), sentAt: 1_373_623_307_000)

    /// An address of the developer's, who may send to any topic.
    static func address(_ scope: KiiScope, sender: Sender = PushAddress.developer) -> PushAddress {
        PushAddress(
            app: "5ab07c11", topic: KiiTopic(scope: scope, name: "doors"), sender: sender,
            sentAt: 1_700_000_000_123)
    }

    static let scopes: [KiiScope] = [
        .app, .user(KiiUser(id: "u-77")), .group(KiiGroup(id: "g-5")), .thing(KiiThing(id: "th.9a-1")),
    ]

    /// Every set of the four switches that are on by default.
    static let suppressions: [Set<SendSwitch>] = (0..<16).map { bits in
        let keys: [SendSwitch] = [.sender, .objectScope, .topicID, .when]
        return Set(keys.indices.filter { bits & 1 << $0 != 0 }.map { keys[$0] })
    }

    /// A message that shows a text on APNs devices only.
    static func alert(_ body: String) -> OutgoingMessage {
        var message = OutgoingMessage()
        message.apns.alert = .init(body: body)
        message.fcm.isEnabled = false
        message.mqtt.isEnabled = false
        return message
    }
}

extension TestCloud {
    /// A cloud with the tests' app, whose user has the token `token-1`.
    static func withUser() -> TestCloud {
        let cloud = TestCloud(app: Cloud.app.id, key: Cloud.app.key)
        _ = cloud.logIn(.user(Cloud.user))
        return cloud
    }
}

/// A clock whose pauses are over at once, and noted.
final class NotedClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let state = Mutex<(now: Duration, pauses: [Duration])>((.zero, []))
    var now: Instant { Instant(offset: state.withLock { $0.now }) }
    var pauses: [Duration] { state.withLock { $0.pauses } }
    let minimumResolution = Duration.nanoseconds(1)

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        state.withLock { state in
            state.pauses.append(deadline.offset - state.now)
            state.now = max(state.now, deadline.offset)
        }
    }
}

/// Tokens with rising numbers.
final class CountedTokens: TokenSource {
    private let number: Mutex<Int>
    let last: Int
    init(from first: Int, to last: Int) {
        number = Mutex(first)
        self.last = last
    }

    func token(replacing ended: Secret?) -> Secret {
        number.withLock { number in
            if ended == Secret("token-\(number)"), number < last { number += 1 }
            return Secret("token-\(number)")
        }
    }
}
