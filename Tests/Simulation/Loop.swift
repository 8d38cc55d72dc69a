import KiiPush
import KiiPushTesting

/// A way in which handlers call themselves.
enum Loop: String, CaseIterable {
    /// Writes the object that it was called for.
    case update
    /// Makes a new object in the bucket that it was called for.
    case create
    /// Answers one topic on another, and the other on the first.
    case pingPong = "ping-pong"

    private static let bucket = KiiBucket(scope: .app, name: "settings")
    private static let topics = ["ping", "pong"].map { KiiTopic(scope: .app, name: $0) }

    /// Makes the write from outside that starts it.
    func begin(_ fleet: SimulatedFleet) {
        switch self {
        case .update, .create: fleet.cloud.put(KiiObject(bucket: Self.bucket, id: "o-1"), by: .user(id: "U-person"))
        case .pingPong: fleet.cloud.send([:], to: Self.topics[0], by: .user(id: "U-person"))
        }
    }

    /// Adds handlers that declare and stamp their writes.
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

    /// Adds the same handlers without declarations and stamps.
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

    /// The most messages of one cause that a device handles.
    ///
    /// A ping-pong has two topics, in each of which every sender is counted separately, up to the device's limit.
    func bound(_ value: KeyPath<LoopBound, Int>, devices: Int, in time: Duration) -> Int {
        switch self {
        case .update: LoopBound(in: time)[keyPath: value]
        case .create: LoopBound(shape: .bucket, in: time)[keyPath: value]
        case .pingPong: LoopBound(shape: .device, in: time)[keyPath: value]
        }
    }
}

/// The protection of a device in one run.
enum Protection: String, CaseIterable {
    /// No layer.
    case off
    case identity
    case echo
    case lineage
    case rate
    /// The kill switch, used when the loop has reached its cap.
    case killSwitch = "kill"
    case all
    /// All layers, with handlers that neither declare nor stamp.
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
    /// Devices with careless handlers have no identity, either.
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
