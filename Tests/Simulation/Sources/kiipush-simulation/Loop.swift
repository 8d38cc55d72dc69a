import KiiPush
import KiiPushTesting

/// A way in which handlers call themselves.
enum Loop: String, CaseIterable {
    /// Writes the very object that it was called for.
    case update
    /// Makes a new object in the bucket that it was called for.
    case create
    /// Answers one topic on another, and that one on the first.
    case pingPong = "ping-pong"

    private static let bucket = KiiBucket(scope: .app, name: "settings")
    private static let topics = ["ping", "pong"].map { KiiTopic(scope: .app, name: $0) }

    /// The write from outside with which it begins.
    func begin(_ fleet: SimulatedFleet) {
        switch self {
        case .update, .create: fleet.cloud.put(KiiObject(bucket: Self.bucket, id: "o-1"), by: .user(id: "U-person"))
        case .pingPong: fleet.cloud.send([:], to: Self.topics[0], by: .user(id: "U-person"))
        }
    }

    /// The handlers; those that announce nothing stamp nothing either.
    func addHandlers(to receiver: PushReceiver, of device: SimulatedDevice, announces: Bool) {
        switch self {
        case .update:
            receiver.onPushToApp("update", bucket: "settings", object: "*") { event, context in
                guard announces else { return _ = try device.put(event.object) }
                let write = try context.willWrite(event.object)
                do {
                    write.done(modifiedAt: try device.put(event.object))
                } catch {
                    write.failed()
                    throw error
                }
            }
        case .create:
            receiver.onPushToApp("create", bucket: "settings") { event, context in
                guard announces else { return _ = try device.create(in: event.bucket) }
                let write = try context.willCreate(in: event.bucket)
                let made = try device.create(in: event.bucket)
                write.done(id: made.id, modifiedAt: made.modifiedAt)
            }
        case .pingPong:
            for (from, to) in [(Self.topics[0], Self.topics[1]), (Self.topics[1], Self.topics[0])] {
                receiver.onPushToUser(from.name, topic: .exactly(from.name)) { message, context in
                    var data: [String: DataValue] = [:]
                    if announces { context.stamp(&data) }
                    try device.send(data, to: to)
                }
            }
        }
    }

    /// How many messages of one cause a device handles at most.
    ///
    /// A ping-pong has two topics, and each sender in each of them counts by itself, up to what the topic may have.
    func bound(devices: Int, in time: Duration, hasLoss: Bool) -> Int {
        let bound = LoopBound(in: time)
        switch self {
        case .update: return hasLoss ? bound.messagesWithLoss : bound.messages
        case .create: return hasLoss ? bound.wideMessagesWithLoss : bound.wideMessages
        case .pingPong:
            // The person who began it is one sender more.
            let narrow = (devices + 1) * (hasLoss ? bound.messagesWithLoss : bound.messages)
            return 2 * min(narrow, hasLoss ? bound.wideMessagesWithLoss : bound.wideMessages + narrow)
        }
    }
}

/// What a device has against loops in one run.
enum Protection: CaseIterable {
    case off, identity, echo, lineage, rate, killSwitch, all, silent

    var title: String {
        switch self {
        case .off: "off"
        case .identity: "identity"
        case .echo: "echo"
        case .lineage: "lineage"
        case .rate: "rate"
        case .killSwitch: "kill switch"
        case .all: "all"
        case .silent: "all, silent"
        }
    }

    private var layers: Set<LoopLayer> {
        switch self {
        case .off: []
        case .identity: [.identity]
        case .echo: [.echo]
        case .lineage: [.lineage]
        case .rate: [.rate]
        case .killSwitch: [.killSwitch]
        case .all, .silent: Set(LoopLayer.allCases)
        }
    }

    /// A device's receiver, with the chain that every receiver has.
    ///
    /// Handlers that announce nothing are on devices that do not say who they are, either.
    func receiver(_ device: SimulatedDevice, _ loop: Loop) -> PushReceiver {
        let announces = self != .silent
        let receiver = PushReceiver(app: SimulatedCloud.app, clock: device.clock) {
            Deduplicator(clock: device.clock)
            LoopGuard(
                me: announces ? [device.identity] : [], settings: LoopSettings(layers: layers), clock: device.clock)
            ScopeRouter()
        }
        loop.addHandlers(to: receiver, of: device, announces: announces)
        return receiver
    }
}
