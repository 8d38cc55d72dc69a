public import KiiPush
import Synchronization

/// The part of Kii's cloud that sends pushes: objects that change, and topics that receive messages.
///
/// Every change creates one event, and every device of the fleet is subscribed to it, including the one that made the
/// change, as in Kii. Times of one object or topic are at least a millisecond apart, so that no two changes look
/// identical to a device.
public final class SimulatedCloud: Sendable {
    /// The network was down, and the write did not happen.
    struct Unreachable: Error {}

    /// The origin of an event: a write from outside the fleet, and the number of handlers since.
    struct Cause {
        let number: Int
        var generation = 0
    }

    /// One push before it is encoded.
    typealias Event = (fixture: PayloadFixture, cause: Cause)

    private struct State {
        /// By URI, which does not depend on whether the bucket's type is known.
        var contents: [KiiURI: [String: DataValue]] = [:]
        var lastTimes: [KiiURI: Int64] = [:]
        var causes = 0
        /// The cause of the event that is being handled; nil while no handler runs.
        var current: Cause?
        var events: [Event] = []
        var writes = 0
        var failedWrites = 0
        var random: SeededGenerator
    }

    /// The app of all buckets and topics.
    public static let app = "0123abcd"

    private let state: Mutex<State>
    private let clock: ManualClock
    private let failing: Double

    init(seed: UInt64, clock: ManualClock, failing: Double) {
        state = Mutex(State(random: SeededGenerator(seed: seed)))
        self.clock = clock
        self.failing = failing
    }

    // MARK: Reading and writing

    /// An object's fields, with its time of modification under `_modified`; nil if it does not exist.
    public func fields(of object: KiiObject) -> [String: DataValue]? {
        state.withLock { state in
            guard var fields = state.contents[object.uri] else { return nil }
            if let time = state.lastTimes[object.uri] { fields[Self.modified] = .number("\(time)") }
            return fields
        }
    }

    private static let modified = "_modified"

    /// Writes an object from outside the fleet, as a new cause; returns when, in milliseconds since 1970.
    @discardableResult
    public func put(_ object: KiiObject, _ fields: [String: DataValue] = [:], by sender: Sender? = nil) -> Int64 {
        state.withLock { write(object, fields, sender, &$0) }
    }

    /// Sends a message to a topic from outside the fleet, as a new cause.
    public func send(_ data: [String: DataValue], to topic: KiiTopic, by sender: Sender? = nil) {
        let members = data.sorted { $0.key < $1.key }.map { (key: $0.key, value: $0.value) }
        state.withLock { state in
            make(
                .pushToUser(
                    topic: topic.name, scope: topic.scope, sender: sender?.id, sentAt: time(of: topic.uri, &state),
                    data: members, app: Self.app), &state)
        }
    }

    /// Writes for a device, unless the network fails.
    func putForDevice(_ object: KiiObject, _ fields: [String: DataValue], _ sender: Sender) throws -> Int64 {
        try state.withLock { state in
            if state.random.happens(failing) {
                state.failedWrites += 1
                throw Unreachable()
            }
            return write(object, fields, sender, &state)
        }
    }

    // MARK: Making events

    private func write(_ object: KiiObject, _ fields: [String: DataValue], _ sender: Sender?, _ state: inout State)
        -> Int64
    {
        let modifiedAt = time(of: object.uri, &state)
        var fields = fields
        // The server sets these.
        fields[Self.modified] = nil
        let event =
            state.contents.updateValue(fields, forKey: object.uri) == nil ? KiiEvent.objectCreated : .objectUpdated
        make(
            .change(
                event, of: object, sender: sender?.id, sentAt: modifiedAt, modifiedAt: modifiedAt, app: Self.app),
            &state)
        return modifiedAt
    }

    private func make(_ fixture: PayloadFixture, _ state: inout State) {
        state.events.append((fixture, state.current ?? Cause(number: state.causes)))
        if state.current == nil { state.causes += 1 }
        state.writes += 1
    }

    private func time(of place: KiiURI, _ state: inout State) -> Int64 {
        let now = 1_700_000_000_000 + clock.now.nanoseconds / 1_000_000
        let time = max(now, (state.lastTimes[place] ?? 0) + 1)
        state.lastTimes[place] = time
        return time
    }

    // MARK: For the fleet

    /// Sets the cause of the running handlers' event; nil if none runs.
    func setCause(_ cause: Cause?) { state.withLock { $0.current = cause } }

    /// Removes and returns the undelivered events.
    func takeEvents() -> [Event] {
        state.withLock { state in
            defer { state.events = [] }
            return state.events
        }
    }

    /// How many events the cloud created, and how many writes failed.
    var counts: (writes: Int, failed: Int) { state.withLock { ($0.writes, $0.failedWrites) } }
}

/// One device of a simulated fleet, as its own handlers see it: its identity, its clock, and the cloud.
///
/// Its writes return what Kii's server would, or throw.
public struct SimulatedDevice: Sendable {
    /// The device's index in the fleet, from 0.
    public let number: Int
    /// The identity that only this device writes as.
    public let identity: Sender
    /// The clock of the whole fleet; pass it to the receiver and its middleware.
    public let clock: ManualClock
    /// The cloud.
    public let cloud: SimulatedCloud

    init(number: Int, clock: ManualClock, cloud: SimulatedCloud) {
        self.number = number
        identity = .thing(id: "th.\(number)")
        self.clock = clock
        self.cloud = cloud
    }

    /// Writes an object with all of its fields; returns when it was modified, in milliseconds since 1970.
    ///
    /// The writing identity is the device's own, unless another is given.
    ///
    /// - Throws: if the cloud is set to fail.
    @discardableResult
    public func put(
        _ object: KiiObject, _ fields: [String: DataValue] = [:], by sender: Sender? = nil
    ) throws -> Int64 {
        try cloud.putForDevice(object, fields, sender ?? identity)
    }
}
