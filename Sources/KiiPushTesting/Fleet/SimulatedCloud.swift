public import KiiPush
import Synchronization

/// The part of Kii's cloud that makes pushes: objects that change, and topics that messages are sent to.
///
/// Every change makes one event, and every device of the fleet is subscribed to it, also the one that made the change:
/// Kii leaves nobody out. Times of one object, or of one topic, are at least a millisecond apart, so that no two
/// changes look like one to a device.
public final class SimulatedCloud: Sendable {
    /// The network was down, and the write did not happen.
    public struct Unreachable: Error {
        /// Makes the error, for a cloud of a test's own.
        public init() {}
    }

    /// Why an event happened: a write from outside the fleet, and how many handlers lie between.
    struct Cause {
        let number: Int
        let generation: Int
    }

    /// One push before it is written down.
    struct Event {
        let fixture: PayloadFixture
        let cause: Cause
    }

    /// Something that a handler does later than its message ends.
    struct Planned {
        let delay: Duration
        let cause: Cause?
        let action: @Sendable () throws -> Void
    }

    private struct State {
        /// By URI, which is the same whether or not the bucket's type is known.
        var contents: [KiiURI: [String: DataValue]] = [:]
        var lastTimes: [KiiURI: Int64] = [:]
        var lastObject = 0
        var causes = 0
        /// What the event that a handler is called for was caused by; nil while no handler runs.
        var current: Cause?
        var events: [Event] = []
        /// What handlers have put off, each with its time.
        var planned: [Planned] = []
        var writes = 0
        var failedWrites = 0
        var random: SeededGenerator
    }

    /// The app in which all of it lives.
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

    /// An object's fields, with its time of modification under `_modified`; nil when there is no such object.
    public func fields(of object: KiiObject) -> [String: DataValue]? {
        state.withLock { state in
            guard var fields = state.contents[object.uri] else { return nil }
            if let time = state.lastTimes[object.uri] { fields[Self.modified] = .number("\(time)") }
            return fields
        }
    }

    private static let modified = "_modified"

    /// Writes an object from outside the fleet, and so makes a new cause.
    ///
    /// - Returns: when the object was modified, in milliseconds since 1970.
    @discardableResult
    public func put(_ object: KiiObject, _ fields: [String: DataValue] = [:], by sender: Sender? = nil) -> Int64 {
        state.withLock { write(object, fields, sender, &$0) }
    }

    /// Changes some fields of an object from outside the fleet and keeps the others, and so makes a new cause.
    ///
    /// - Returns: when the object was modified, in milliseconds since 1970.
    @discardableResult
    public func patch(_ object: KiiObject, _ fields: [String: DataValue], by sender: Sender? = nil) -> Int64 {
        state.withLock { write(object, merged(object, fields, $0), sender, &$0) }
    }

    /// Sends a message to a topic from outside the fleet, and so makes a new cause.
    public func send(_ data: [String: DataValue], to topic: KiiTopic, by sender: Sender? = nil) {
        state.withLock { send(data, topic, sender, &$0) }
    }

    /// Writes for a device, unless the network is down.
    func putForDevice(_ object: KiiObject, _ fields: [String: DataValue], _ sender: Sender) throws -> Int64 {
        try state.withLock { state in
            try mayFail(&state)
            return write(object, fields, sender, &state)
        }
    }

    /// Changes some fields for a device, unless the network is down.
    func patchForDevice(_ object: KiiObject, _ fields: [String: DataValue], _ sender: Sender) throws -> Int64 {
        try state.withLock { state in
            try mayFail(&state)
            return write(object, merged(object, fields, state), sender, &state)
        }
    }

    private func merged(_ object: KiiObject, _ fields: [String: DataValue], _ state: State) -> [String: DataValue] {
        (state.contents[object.uri] ?? [:]).merging(fields) { $1 }
    }

    /// Plans something for later, as an effect of the message that is handled now.
    func plan(_ delay: Duration, _ action: @escaping @Sendable () throws -> Void) {
        state.withLock { $0.planned.append(Planned(delay: delay, cause: $0.current, action: action)) }
    }

    /// Makes an object for a device, with an id of the cloud's choice.
    func createForDevice(_ bucket: KiiBucket, _ fields: [String: DataValue], _ sender: Sender) throws -> (
        id: String, modifiedAt: Int64
    ) {
        try state.withLock { state in
            try mayFail(&state)
            state.lastObject += 1
            let id = "made-\(state.lastObject)"
            return (id, write(KiiObject(bucket: bucket, id: id), fields, sender, &state))
        }
    }

    /// Sends for a device, unless the network is down.
    func sendForDevice(_ data: [String: DataValue], _ topic: KiiTopic, _ sender: Sender) throws {
        try state.withLock { state in
            try mayFail(&state)
            send(data, topic, sender, &state)
        }
    }

    // MARK: Making events

    private func mayFail(_ state: inout State) throws(Unreachable) {
        guard state.random.happens(failing) else { return }
        state.failedWrites += 1
        throw Unreachable()
    }

    private func write(_ object: KiiObject, _ fields: [String: DataValue], _ sender: Sender?, _ state: inout State)
        -> Int64
    {
        let modifiedAt = time(of: object.uri, &state)
        var fields = fields
        // The server's own.
        fields[Self.modified] = nil
        let event =
            state.contents.updateValue(fields, forKey: object.uri) == nil ? KiiEvent.objectCreated : .objectUpdated
        make(
            .pushToApp(
                bucket: object.bucket.name, object: object.id, event: event, scope: object.bucket.scope,
                sender: sender?.id, sentAt: modifiedAt, modifiedAt: modifiedAt, app: Self.app), &state)
        return modifiedAt
    }

    private func send(_ data: [String: DataValue], _ topic: KiiTopic, _ sender: Sender?, _ state: inout State) {
        let members = data.sorted { $0.key < $1.key }.map { (key: $0.key, value: $0.value) }
        make(
            .pushToUser(
                topic: topic.name, scope: topic.scope, sender: sender?.id, sentAt: time(of: topic.uri, &state),
                data: members, app: Self.app), &state)
    }

    private func make(_ fixture: PayloadFixture, _ state: inout State) {
        var cause = state.current
        if cause == nil {
            cause = Cause(number: state.causes, generation: 0)
            state.causes += 1
        }
        guard let cause else { return }
        state.writes += 1
        state.events.append(Event(fixture: fixture, cause: cause))
    }

    private func time(of place: KiiURI, _ state: inout State) -> Int64 {
        let now = 1_700_000_000_000 + clock.now.nanoseconds / 1_000_000
        let time = max(now, (state.lastTimes[place] ?? 0) + 1)
        state.lastTimes[place] = time
        return time
    }

    // MARK: For the fleet

    /// Says what the handlers that run now were called for; nil when none does.
    func setCause(_ cause: Cause?) { state.withLock { $0.current = cause } }

    /// The events that are not delivered yet.
    func takeEvents() -> [Event] {
        state.withLock { state in
            guard !state.events.isEmpty else { return [] }
            defer { state.events = [] }
            return state.events
        }
    }

    /// What handlers have put off since the last call.
    func takePlanned() -> [Planned] {
        state.withLock { state in
            guard !state.planned.isEmpty else { return [] }
            defer { state.planned = [] }
            return state.planned
        }
    }

    /// How many events there were, and how many writes failed.
    var counts: (writes: Int, failed: Int) { state.withLock { ($0.writes, $0.failedWrites) } }
}

/// One device of a simulated fleet, as its own handlers see it: who it is, its clock, and the cloud to write to.
///
/// Its writes answer as Kii's server does, or throw ``SimulatedCloud/Unreachable``.
public struct SimulatedDevice: Sendable {
    /// The device's place in the fleet, from 0.
    public let number: Int
    /// The thing that only this device writes as.
    public let identity: Sender
    /// The clock of the whole fleet; give it to the receiver and its stages.
    public let clock: ManualClock
    /// The cloud.
    public let cloud: SimulatedCloud

    init(number: Int, clock: ManualClock, cloud: SimulatedCloud) {
        self.number = number
        identity = .thing(id: "th.\(number)")
        self.clock = clock
        self.cloud = cloud
    }

    /// Writes an object, all of its fields; returns when it was modified, in milliseconds since 1970.
    ///
    /// - Parameters:
    ///   - object: the object.
    ///   - fields: what it has from now on.
    ///   - sender: who writes; the device's own identity when it is left out.
    /// - Returns: when it was modified.
    /// - Throws: where the cloud is set to fail.
    @discardableResult
    public func put(
        _ object: KiiObject, _ fields: [String: DataValue] = [:], by sender: Sender? = nil
    ) throws -> Int64 {
        try cloud.putForDevice(object, fields, sender ?? identity)
    }

    /// Changes some fields of an object and keeps the others; returns when it was modified.
    ///
    /// - Parameters:
    ///   - object: the object; made if there is none.
    ///   - fields: those that change.
    ///   - sender: who writes; the device's own identity when it is left out.
    /// - Returns: when it was modified.
    /// - Throws: where the cloud is set to fail.
    @discardableResult
    public func patch(_ object: KiiObject, _ fields: [String: DataValue], by sender: Sender? = nil) throws -> Int64 {
        try cloud.patchForDevice(object, fields, sender ?? identity)
    }

    /// Makes a new object; returns its id and when it was modified.
    @discardableResult
    public func create(in bucket: KiiBucket, _ fields: [String: DataValue] = [:]) throws -> (
        id: String, modifiedAt: Int64
    ) {
        try cloud.createForDevice(bucket, fields, identity)
    }

    /// Sends a message to a topic.
    ///
    /// - Parameters:
    ///   - data: what is sent.
    ///   - topic: the topic.
    ///   - sender: who sends; the device's own identity when it is left out.
    /// - Throws: where the cloud is set to fail.
    public func send(_ data: [String: DataValue], to topic: KiiTopic, by sender: Sender? = nil) throws {
        try cloud.sendForDevice(data, topic, sender ?? identity)
    }

    /// Does something later, in a handler: what it writes then is caused by the handler's message, which has ended.
    ///
    /// - Parameters:
    ///   - delay: how much later, in whole milliseconds.
    ///   - action: what; a write of it that fails is lost.
    public func later(_ delay: Duration, _ action: @escaping @Sendable () throws -> Void) { cloud.plan(delay, action) }
}
