import KiiCloud
import KiiCloudTesting
import KiiPush
import Synchronization

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
