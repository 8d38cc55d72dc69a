import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Announcing a write that would come back to the handler that makes it.
struct OwnBucketTests {
    /// A route's policy and a write, and what comes of it.
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String { "\(policy.rawValue) \(target.rawValue)\(isOn ? "" : ", layer off")" }
        let policy: RouteOptions.OwnBucket
        let target: Target
        var isOn = true
        var risk: LoopRisk.Cause?
    }

    enum Target: String {
        case ownBucket, sameRoute, otherScope, elsewhere

        var bucket: KiiBucket {
            switch self {
            case .ownBucket: KiiBucket(scope: .app, name: "settings")
            case .sameRoute: KiiBucket(scope: .app, name: "set-2")
            case .otherScope: KiiBucket(scope: .user(KiiUser(id: "U-1")), name: "settings")
            case .elsewhere: KiiBucket(scope: .app, name: "other")
            }
        }
    }

    static let rows: [Row] = [
        Row(policy: .warn, target: .ownBucket, risk: .sameBucket),
        Row(policy: .refuse, target: .ownBucket, risk: .sameBucket), Row(policy: .allow, target: .ownBucket),
        Row(policy: .warn, target: .sameRoute, risk: .sameRoute),
        Row(policy: .refuse, target: .sameRoute, risk: .sameRoute), Row(policy: .allow, target: .sameRoute),
        Row(policy: .refuse, target: .otherScope), Row(policy: .refuse, target: .elsewhere),
        Row(policy: .warn, target: .elsewhere), Row(policy: .refuse, target: .ownBucket, isOn: false),
        Row(policy: .warn, target: .sameRoute, isOn: false),
    ]

    @Test("a write to where the route listens is reported, refused or let through, as the route says", arguments: rows)
    func row(row: Row) async throws {
        let settings = row.isOn ? LoopSettings.standard : .standard.without(.ownBucket)
        let clock = ManualClock()
        let loopGuard = LoopGuard(settings: settings, clock: clock)
        let store = SpyStore()
        let receiver = PushReceiver(clock: clock) {
            Deduplicator(store: store, secret: .published, clock: clock)
            loopGuard
        }
        let risks = Mutex<[LoopRisk]>([])
        let (traces, log) = (TraceLog(), EventLog())
        loopGuard.onRisk { risk in risks.withLock { $0.append(risk) } }
        receiver.onTrace { traces.add($0) }
        let bucket = row.target.bucket
        receiver.onPushToApp(id: "r", bucket: "set*", scope: .app, options: RouteOptions(ownBucket: row.policy)) {
            _, context in
            let write = try context.willWrite(KiiObject(bucket: bucket, id: "o-9"))
            log.add("written")
            write.done()
        }
        let isRefused = row.policy == .refuse && row.risk != nil
        let outcome = await receiver.receive(PayloadFixture.pushToApp().payload(.long))
        #expect("\(outcome)" == (isRefused ? "looped (ownBucket)" : "handled"))
        #expect(outcome.disposition == .accept)
        #expect(store.log.events == ["fresh", "commit"])
        #expect(log.events == (isRefused ? [] : ["written"]))
        #expect(risks.withLock { $0 }.map(\.cause) == (row.risk.map { [$0] } ?? []))
        #expect(risks.withLock { $0 }.allSatisfy { $0.route == "r" && $0.messageID == 1 })
        let writes = traces.traces.flatMap(\.stages).filter { $0.name == "write" }.map(\.verdict)
        #expect(writes == (row.risk.map { ["risk: \($0.rawValue)"] } ?? []))
        #expect(receiver.metrics.routes.map(\.failed) == [isRefused ? 1 : 0])
        // What was announced is cut when it comes; a refused write was not announced.
        let event = PayloadFixture.pushToApp(
            bucket: bucket.name, object: "o-9", scope: bucket.scope, sender: nil, sentAt: 5, modifiedAt: nil)
        #expect(
            await receiver.receive(event.payload(.long)).reason
                == (isRefused ? (row.target == .ownBucket || row.target == .sameRoute ? "ownBucket" : nil) : "echo"))
    }

    @Test("a failed handler outranks a refused one, and a refused one outranks a handled one")
    func twoHandlers() async {
        let clock = ManualClock()
        let isFailing = Flag()
        let log = EventLog()
        let receiver = PushReceiver(clock: clock) {
            Deduplicator(clock: clock)
            LoopGuard(clock: clock)
        }
        receiver.onPushToApp(
            id: "refused", bucket: "settings",
            options: RouteOptions(then: .continue, ownBucket: .refuse)
        ) {
            event, context in _ = try context.willCreate(in: event.bucket)
        }
        receiver.onAny(id: "other") { _, _ in
            log.add("other")
            if isFailing.isSet { throw TestError() }
        }
        func send(_ number: Int64) async -> String {
            await receiver.receive(PayloadFixture.pushToApp(sentAt: number, modifiedAt: nil).payload(.long)).description
        }
        isFailing.set()
        #expect(await send(1) == "failed (other)")
        isFailing.clear()
        #expect(await send(1) == "looped (ownBucket)")
        #expect(log.events == ["other", "other"])
    }

    @Test("the event of a new object is dropped once its id is known")
    func create() async {
        let clock = ManualClock()
        let receiver = PushReceiver(clock: clock)
        let target = KiiBucket(scope: .app, name: "made")
        let isDone = Flag()
        receiver.onPushToApp(id: "r", bucket: "settings") { _, context in
            let creation = try context.willCreate(in: target)
            if isDone.isSet { creation.done(id: "new", modifiedAt: 9) }
        }
        receiver.onPushToApp(id: "made", bucket: "made") { _, _ in }
        func made(_ sentAt: Int64, _ time: Int64? = 9) async -> String {
            let fixture = PayloadFixture.pushToApp(
                bucket: "made", object: "new", sender: nil, sentAt: sentAt, modifiedAt: time)
            return await receiver.receive(fixture.payload(.long)).description
        }
        _ = await receiver.receive(PayloadFixture.pushToApp(sentAt: 1, modifiedAt: nil).payload(.long))
        #expect(await made(1, nil) == "handled")
        isDone.set()
        _ = await receiver.receive(PayloadFixture.pushToApp(sentAt: 2, modifiedAt: nil).payload(.long))
        #expect(await made(2, 8) == "handled")
        #expect(await made(3, 9) == "looped (echo)")
        #expect(await made(4, nil) == "handled")
    }

    @Test("without a guard, handlers can still announce and stamp")
    func noGuard() async {
        let receiver = PushReceiver {}
        receiver.onAny(id: "r", options: RouteOptions(ownBucket: .refuse)) { _, context in
            let bucket = KiiBucket(scope: .app, name: "settings")
            let write = try context.willWrite(KiiObject(bucket: bucket, id: "o"))
            write.done(modifiedAt: 1)
            write.failed()
            try context.willCreate(in: bucket).done(id: "x")
            guard context.stamp == "1;1;-;1700000000033" else { throw TestError() }
        }
        #expect(await receiver.receive(PayloadFixture.pushToApp().payload(.long)).name == "handled")
    }
}
