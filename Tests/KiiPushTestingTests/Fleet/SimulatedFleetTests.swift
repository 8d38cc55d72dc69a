import KiiPush
import Testing

@testable import KiiPushTestSupport
@testable import KiiPushTesting

@Suite("Simulated fleet")
struct SimulatedFleetTests {
    private static let object = KiiObject(bucket: KiiBucket(scope: .app, name: "settings"), id: "o-1")
    private static let topic = KiiTopic(scope: .app, name: "news")

    /// Devices whose handlers do nothing.
    private func listener(_ device: SimulatedDevice) -> PushReceiver {
        let receiver = PushReceiver(app: SimulatedCloud.app, clock: device.clock)
        receiver.onAny { _, _ in }
        return receiver
    }

    /// Devices that write back to what they are called for, with the layers of a guard.
    private func looping(_ device: SimulatedDevice, _ layers: Set<LoopLayer>) -> PushReceiver {
        let receiver = PushReceiver(app: SimulatedCloud.app, clock: device.clock) {
            Deduplicator(clock: device.clock)
            LoopGuard(settings: LoopSettings(layers: layers), clock: device.clock)
            ScopeFilter()
        }
        receiver.onPushToApp(id: "loop", bucket: "*", object: "*") { event, _ in try device.put(event.object) }
        return receiver
    }

    // MARK: The cloud

    @Test(
        "every device gets every event, with either key style", arguments: [[PayloadFixture.KeyStyle.long], [.short]])
    func everyDevice(keys: [PayloadFixture.KeyStyle]) async {
        let fleet = SimulatedFleet(devices: 5, keys: keys, receiver: listener)
        fleet.cloud.put(Self.object)
        fleet.cloud.send(["text": .string("hello")], to: Self.topic, by: .user(id: "U-1"))
        let report = await fleet.run(for: .seconds(10))
        #expect(report.stop == .quiet && report.events == 2 && report.causes == 2)
        #expect(report.deliveries == 10 && report.count("handled") == 10 && report.mostHandled == 1)
        #expect(fleet.receivers.allSatisfy { $0.metrics.count("handled") == 2 })
        let lines = "\(report)".split(separator: "\n")
        #expect(lines.contains("events        2 from 2 causes, 1 generations") && lines.count == 10)
        #expect(lines.last == "outcome       handled: 10")
    }

    @Test("a run without a limit ends when nothing more happens, with a bounded number of samples")
    func unlimited() async {
        let fleet = SimulatedFleet(devices: 1, receiver: listener)
        fleet.cloud.put(Self.object)
        fleet.at(.seconds(2)) { $0.cloud.put(Self.object) }
        let report = await fleet.run(for: .nanoseconds(Int64.max))
        #expect(report.stop == .quiet && report.handled == 2 && report.seconds > 9e9)
        #expect(report.samples.last?.handled == 2 && report.samples.count < 10_010)
    }

    @Test("the writer gets its own event, by its name over long keys only")
    func writer() async {
        for (keys, looped) in [(PayloadFixture.KeyStyle.long, 1), (.short, 0)] {
            let fleet = SimulatedFleet(devices: 1, keys: [keys]) { device in
                let receiver = PushReceiver(app: SimulatedCloud.app, me: [device.identity], clock: device.clock)
                receiver.onPushToUser(topic: "news") { _, _ in try device.put(Self.object) }
                receiver.onPushToApp(bucket: "settings") { _, _ in }
                return receiver
            }
            fleet.cloud.send([:], to: Self.topic)
            let report = await fleet.run(for: .seconds(10))
            #expect(report.count("looped", "identity") == looped && report.deliveries == 2)
            #expect(report.eventsByGeneration == [1, 1])
        }
    }

    @Test("an object keeps what was put, and its times differ though the clock stands")
    func contents() {
        let fleet = SimulatedFleet(devices: 1, receiver: listener)
        let times = (1...3).map { fleet.cloud.put(Self.object, ["n": .number("\($0)")]) }
        #expect(times == times.sorted() && Set(times).count == 3)
        #expect(fleet.cloud.fields(of: Self.object)?["n"] == .number("3"))
        let other = KiiObject(bucket: Self.object.bucket, id: "o-2")
        #expect(fleet.cloud.fields(of: other) == nil)
    }

    // MARK: The network

    @Test("the same seed gives the same report, and another seed another")
    func seed() async {
        func run(_ seed: UInt64) async -> [FleetReport.Sample] {
            let fleet = SimulatedFleet(devices: 3, keys: [.long, .short], chaos: .rough, seed: seed) {
                looping($0, [.pace])
            }
            fleet.cloud.put(Self.object)
            return await fleet.run(for: .seconds(600)).samples
        }
        let first = await run(1)
        #expect(await run(1) == first)
        #expect(await run(2) != first)
    }

    @Test("copies are dropped, also those that come with the other key style")
    func copies() async {
        let fleet = SimulatedFleet(devices: 4, chaos: Chaos(duplication: 1), receiver: listener)
        for _ in 1...10 { fleet.cloud.put(Self.object) }
        let report = await fleet.run(for: .seconds(60))
        #expect(report.duplicated == 40 && report.deliveries == 80)
        #expect(report.handled == 40 && report.handledTwice == 0 && report.unhandled == 0)
        #expect(report.count("duplicate", "done") == 40)
    }

    @Test("lost messages never arrive, and all others do")
    func loss() async {
        let none = SimulatedFleet(devices: 2, chaos: Chaos(loss: 1), receiver: listener)
        none.cloud.put(Self.object)
        let silent = await none.run(for: .seconds(10))
        #expect(silent.lost == 2 && silent.deliveries == 0)
        let some = SimulatedFleet(devices: 100, chaos: Chaos(loss: 0.5), receiver: listener)
        some.cloud.put(Self.object)
        let report = await some.run(for: .seconds(10))
        #expect(report.lost + report.handled == 100 && (25...75).contains(report.lost))
    }

    @Test("a handler whose write fails is called again, and counts once")
    func failedWrites() async {
        let other = KiiObject(bucket: KiiBucket(scope: .app, name: "state"), id: "s")
        let fleet = SimulatedFleet(devices: 20, chaos: Chaos(failedWrites: 0.3)) { device in
            let receiver = PushReceiver(app: SimulatedCloud.app, clock: device.clock)
            receiver.onPushToApp(bucket: "settings") { _, _ in try device.put(other) }
            receiver.onPushToApp(bucket: "state") { _, _ in }
            return receiver
        }
        fleet.cloud.put(Self.object)
        let report = await fleet.run(for: .seconds(600))
        #expect(report.failedWrites > 0 && report.redelivered == report.failedWrites && report.givenUp == 0)
        #expect(report.unhandled == 0 && report.handledTwice == 0 && report.events == 21)
    }

    @Test("a jump of the clock delivers what was due meanwhile at once")
    func jumps() async {
        let jumping = Chaos(
            delay: .milliseconds(100) ... .milliseconds(100), jumps: 1, jump: .seconds(5) ... .seconds(5))
        let fleet = SimulatedFleet(devices: 1, chaos: jumping, receiver: listener)
        for second in 0..<4 { fleet.at(.seconds(second)) { $0.cloud.put(Self.object) } }
        let report = await fleet.run(for: .seconds(60))
        #expect(report.handled == 4 && report.jumps == 4)
        #expect(report.samples.first { $0.handled == 1 }?.seconds == 1)
    }

    // MARK: Loops

    @Test("a loop without a guard grows by the number of devices, until it is cut off", arguments: [2, 5, 10])
    func growth(devices: Int) async {
        let fleet = SimulatedFleet(devices: devices) { looping($0, []) }
        fleet.cloud.put(Self.object)
        let report = await fleet.run(for: .seconds(3600), deliveries: 3000)
        #expect(report.stop == .cap && report.deliveries == 3000)
        #expect(report.growth == Double(devices))
        #expect(report.eventsByGeneration.prefix(2) == [1, devices])
    }

    @Test("with the pace layer a device handles a loop by its floor, for as long as it is watched")
    func bound() async {
        let fleet = SimulatedFleet(devices: 3, keys: [.short]) { looping($0, [.pace]) }
        fleet.cloud.put(Self.object)
        let report = await fleet.run(for: .seconds(900))
        // The burst, the allowance, the floor, and one of it in advance.
        #expect(report.mostHandled <= 20 + 290 + 900 / 8 + 1 && report.mostHandled > 310, "\(report.mostHandled)")
        #expect(report.stop == .timeOver && report.paced > 0)
    }

    @Test("a run goes on where it stopped")
    func goesOn() async {
        let fleet = SimulatedFleet(devices: 2) { looping($0, []) }
        fleet.cloud.put(Self.object)
        #expect(await fleet.run(for: .seconds(3600), deliveries: 10).deliveries == 10)
        #expect(await fleet.run(for: .seconds(3600), deliveries: 30).deliveries == 30)
    }

    @Test("the generator is SplitMix64")
    func generator() {
        var random = SeededGenerator(seed: 1_234_567)
        #expect(
            (0..<3).map { _ in random.next() } == [
                6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
            ])
    }
}
