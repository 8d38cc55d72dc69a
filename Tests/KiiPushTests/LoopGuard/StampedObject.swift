import KiiPushTesting
import Synchronization

@testable import KiiPush
@testable import KiiPushTestSupport

/// An object on a server that keeps the fields which a write does not name.
final class PatchedObject: Sendable {
    private struct State {
        var fields: [String: DataValue] = ["target": .number("20")]
        var modifiedAt: Int64 = 0
    }

    static let object = KiiObject(bucket: KiiBucket(scope: .app, name: "thermostats"), id: "hall")

    private let state = Mutex(State())
    private let clock: ManualClock

    init(_ clock: ManualClock) { self.clock = clock }

    /// The fields as the REST API returns them.
    var fields: [String: DataValue] {
        state.withLock { state in state.fields.merging(["_modified": .number("\(state.modifiedAt)")]) { $1 } }
    }

    /// Changes some fields; returns when.
    func patch(_ changes: [String: DataValue]) -> Int64 {
        let now = 1_700_000_000_000 + clock.now.nanoseconds / 1_000_000
        return state.withLock { state in
            state.modifiedAt = max(now, state.modifiedAt + 1)
            state.fields.merge(changes) { $1 }
            return state.modifiedAt
        }
    }

    /// The event of the last change, as a transport brings it.
    func event(by sender: String, _ style: PayloadFixture.KeyStyle) -> RawPayload {
        let time = state.withLock { $0.modifiedAt }
        return PayloadFixture.pushToApp(
            bucket: "thermostats", object: "hall", sender: sender, sentAt: time + 20, modifiedAt: time
        ).payload(style)
    }
}

/// A device that rounds the target of the thermostat, and says so with its stamp.
struct Rounder {
    let receiver: PushReceiver
    let cloud: PatchedObject

    enum Manner: String, CaseIterable {
        /// Gives the stamp alone.
        case plain
        /// Gives the object's fields.
        case exact

        /// The context of a handler that has read the object.
        func continuing(_ context: HandlerContext, _ fields: [String: DataValue]) throws -> HandlerContext {
            switch self {
            case .plain: try context.continuing(fields[Lineage.key]?.string)
            case .exact: try context.continuing(fields: fields)
            }
        }
    }

    init(_ number: Int, _ cloud: PatchedObject, _ clock: ManualClock, _ manner: Manner) {
        self.cloud = cloud
        receiver = PushReceiver(me: [.thing(id: "th.\(number)")], clock: clock)
        receiver.onPushToApp("round", bucket: "thermostats", object: "*") { event, context in
            let fields = cloud.fields
            let context = try manner.continuing(context, fields)
            let target = fields["target"]?.double ?? 0
            guard target != target.rounded() else { return }
            var changes = ["target": DataValue.number("\(target.rounded())")]
            context.stamp(&changes)
            let write = try context.willWrite(event.object)
            write.done(modifiedAt: cloud.patch(changes))
        }
    }
}
