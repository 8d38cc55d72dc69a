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

    /// The handlers, as careful as they can be: they announce what they write, and stamp it.
    func addCarefulHandlers(to receiver: PushReceiver, of device: SimulatedDevice) {
        switch self {
        case .update:
            receiver.onPushToApp("update", bucket: "settings", object: "*") { event, context in
                let found = device.cloud.fields(of: event.object)?[Lineage.key]?.string
                let context = try context.continuing(found)
                let write = try context.willWrite(event.object)
                do {
                    let fields = [Lineage.key: DataValue.string(context.stamp)]
                    write.done(modifiedAt: try device.put(event.object, fields))
                } catch {
                    write.failed()
                    throw error
                }
            }
        case .create:
            receiver.onPushToApp("create", bucket: "settings", object: "*") { event, context in
                let found = device.cloud.fields(of: event.object)?[Lineage.key]?.string
                let context = try context.continuing(found)
                let creation = try context.willCreate(in: event.bucket)
                let made = try device.create(in: event.bucket, [Lineage.key: .string(context.stamp)])
                creation.done(id: made.id, modifiedAt: made.modifiedAt)
            }
        case .pingPong:
            for (from, to) in Self.ways {
                receiver.onPushToUser(from.name, topic: .exactly(from.name)) { message, context in
                    var data: [String: DataValue] = [:]
                    context.stamp(&data)
                    try device.send(data, to: to)
                }
            }
        }
    }

    /// The same handlers without a care.
    func addCarelessHandlers(to receiver: PushReceiver, of device: SimulatedDevice) {
        switch self {
        case .update:
            receiver.onPushToApp("update", bucket: "settings", object: "*") { event, _ in try device.put(event.object) }
        case .create:
            receiver.onPushToApp("create", bucket: "settings") { event, _ in try device.create(in: event.bucket) }
        case .pingPong:
            for (from, to) in Self.ways {
                receiver.onPushToUser(from.name, topic: .exactly(from.name)) { _, _ in try device.send([:], to: to) }
            }
        }
    }

    private static var ways: [(from: KiiTopic, to: KiiTopic)] { [(topics[0], topics[1]), (topics[1], topics[0])] }

    /// How many messages of one cause a device handles at most.
    ///
    /// A ping-pong has two topics, and in each of them every sender counts by itself, up to what the device may handle.
    func bound(_ value: KeyPath<LoopBound, Int>, devices: Int, in time: Duration) -> Int {
        switch self {
        case .update: LoopBound(in: time)[keyPath: value]
        case .create: LoopBound(shape: .bucket, in: time)[keyPath: value]
        case .pingPong: LoopBound(shape: .device, in: time)[keyPath: value]
        }
    }
}

/// What a device has against loops in one run.
enum Protection: String, CaseIterable {
    /// No layer.
    case off
    case identity
    case echo
    case lineage
    case rate
    /// Thrown once the loop is at its cap.
    case killSwitch = "kill"
    case all
    /// All layers, under handlers that announce nothing and stamp nothing.
    case careless

    private var layers: Set<LoopLayer> {
        switch self {
        case .off: []
        case .identity: [.identity]
        case .echo: [.echo]
        case .lineage: [.lineage]
        case .rate: [.rate]
        case .killSwitch: [.killSwitch]
        case .all, .careless: Set(LoopLayer.allCases)
        }
    }

    /// A device's receiver, with the chain that every receiver has.
    ///
    /// Careless handlers are on devices that do not say who they are, either.
    func receiver(_ device: SimulatedDevice, _ loop: Loop) -> PushReceiver {
        let isCareful = self != .careless
        let receiver = PushReceiver(app: SimulatedCloud.app, clock: device.clock) {
            Deduplicator(clock: device.clock)
            LoopGuard(
                me: isCareful ? [device.identity] : [], settings: LoopSettings(layers: layers), clock: device.clock)
            ScopeFilter()
        }
        if isCareful {
            loop.addCarefulHandlers(to: receiver, of: device)
        } else {
            loop.addCarelessHandlers(to: receiver, of: device)
        }
        return receiver
    }
}
