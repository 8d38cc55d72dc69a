import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Each layer alone: what it ends, with its reason and counter, and that it can be switched off.
struct LoopLayersTests {
    @Test("each layer has its own reason and counter, and ends nothing when off", arguments: LoopLayer.allCases)
    func layer(layer: LoopLayer) async throws {
        for isOn in [true, false] {
            let clock = ManualClock()
            let settings = LoopSettings.standard
            let loopGuard = LoopGuard(
                me: [.thing(id: "th.me")], settings: isOn ? settings : settings.without(layer), clock: clock)
            let receiver = PushReceiver(clock: clock) {
                Deduplicator(clock: clock)
                loopGuard
            }
            let bucket = Self.object.bucket
            receiver.onAny(
                "r",
                options: RouteOptions(
                    pace: .every(.seconds(6)), ownBucket: layer == .ownBucket ? .refuse : .warn)
            ) { _, context in
                if layer == .ownBucket { _ = try context.willCreate(in: bucket) }
            }
            let outcome = await Self.cause(layer, loopGuard, receiver)
            let isPaced = isOn && layer == .pace
            #expect("\(outcome)" == (isPaced ? "paced" : isOn ? "looped (\(layer.rawValue))" : "handled"))
            #expect(receiver.metrics.count("looped", layer.rawValue) == (isOn && !isPaced ? 1 : 0))
            #expect(receiver.metrics.count("looped") == (isOn && !isPaced ? 1 : 0))
            #expect(receiver.metrics.count("paced") == (isPaced ? 1 : 0))
        }
    }

    private static let object = KiiObject(bucket: KiiBucket(scope: .app, name: "settings"), id: "o-1")

    /// Sends what the layer is there for.
    private static func cause(_ layer: LoopLayer, _ loopGuard: LoopGuard, _ receiver: PushReceiver) async -> Outcome {
        switch layer {
        case .identity: return await receiver.receive(PayloadFixture.pushToApp(sender: "th.me").payload(.long))
        case .echo:
            _ = loopGuard.announce(object)
            return await receiver.receive(PayloadFixture.pushToApp(sender: nil).payload(.long))
        case .lineage:
            let fixture = PayloadFixture.pushToUser(data: [(Lineage.key, .string("1;9;x"))])
            return await receiver.receive(fixture.payload(.strings))
        case .pace:
            for sentAt in 1...20 {
                _ = await receiver.receive(
                    PayloadFixture.pushToApp(sentAt: Int64(sentAt), modifiedAt: nil).payload(.long))
            }
            return await receiver.receive(PayloadFixture.pushToApp(sentAt: 21, modifiedAt: nil).payload(.long))
        case .killSwitch:
            loopGuard.kill(.everything, for: .seconds(60))
            return await receiver.receive(PayloadFixture.pushToApp().payload(.long))
        case .ownBucket: return await receiver.receive(PayloadFixture.pushToApp().payload(.long))
        }
    }

    @Test("switching the pace off lets waiting messages pass and resets nothing")
    func paceOff() async {
        let bench = PacingBench()
        await bench.spend()
        for number in 21...23 { #expect(await bench.send(number) == "paced") }
        bench.loopGuard.settings = bench.loopGuard.settings.without(.pace)
        #expect(await bench.send(24) == "handled")
        bench.loopGuard.settings = .standard
        #expect(await bench.send(25) == "paced")
        bench.loopGuard.settings = bench.loopGuard.settings.without(.pace)
        #expect(await bench.pass(8.1) == ["21 handled", "22 handled", "23 handled", "25 handled"])
    }
}
