import KiiPushTesting
import Testing

@testable import KiiPush

/// Each layer alone: what it ends, with its reason and counter, and that it can be switched off.
struct LoopLayersTests {
    @Test(
        "each layer has a reason and a counter of its own, and ends nothing when it is off",
        arguments: LoopLayer.allCases)
    func layer(layer: LoopLayer) async throws {
        for isOn in [true, false] {
            let clock = ManualClock()
            let settings = LoopSettings(rate: LoopRate(messages: 1))
            let loopGuard = LoopGuard(
                me: [.thing(id: "th.me")], settings: isOn ? settings : settings.without(layer), clock: clock)
            let receiver = PushReceiver(clock: clock) {
                Deduplicator(clock: clock)
                loopGuard
            }
            let bucket = Self.object.bucket
            receiver.onAny(
                "r", options: RouteOptions(loop: RouteLoopPolicy(ownBucket: layer == .ownBucket ? .refuse : .warn))
            ) { _, context in
                if layer == .ownBucket { _ = try context.willCreate(in: bucket) }
            }
            let outcome = await Self.cause(layer, loopGuard, receiver)
            let isHeld = isOn && layer == .rate
            #expect("\(outcome)" == (isOn ? "\(isHeld ? "held" : "looped") (\(layer.rawValue))" : "handled"))
            if isHeld { receiver.dropHeld() }
            #expect(receiver.metrics.count("looped", layer.rawValue) == (isOn ? 1 : 0))
            #expect(receiver.metrics.count("looped") == (isOn ? 1 : 0))
            #expect(receiver.metrics.count("held") == 0)
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
        case .rate:
            _ = await receiver.receive(PayloadFixture.pushToApp(sentAt: 1, modifiedAt: nil).payload(.long))
            return await receiver.receive(PayloadFixture.pushToApp(sentAt: 2, modifiedAt: nil).payload(.long))
        case .killSwitch:
            loopGuard.kill(.everything, for: .seconds(60))
            return await receiver.receive(PayloadFixture.pushToApp().payload(.long))
        case .ownBucket: return await receiver.receive(PayloadFixture.pushToApp().payload(.long))
        }
    }

    @Test("what a kill would end stays held while its layer is off, and is ended when it is on")
    func killWhileOff() async {
        let bench = HoldingBench()
        _ = await bench.send(1)
        _ = await bench.send(2)
        bench.loopGuard.settings = bench.loopGuard.settings.without(.killSwitch)
        bench.loopGuard.kill(.everything, for: .seconds(60))
        #expect(bench.receiver.held.count == 1)
        bench.loopGuard.settings.layers.insert(.killSwitch)
        #expect(bench.receiver.held.isEmpty)
        #expect(bench.letters.letters().map(\.reason) == [.killSwitch])
    }

    @Test("what was held before the rate was switched off follows all the same, in its turn")
    func rateOff() async {
        let bench = HoldingBench()
        for number in 1...3 { _ = await bench.send(number) }
        bench.loopGuard.settings = bench.loopGuard.settings.without(.rate)
        #expect(await bench.send(4) == "handled")
        bench.clock.advance(by: .seconds(60))
        #expect(await bench.handleDue() == ["handled"])
        bench.clock.advance(by: .seconds(10))
        #expect(await bench.handleDue() == ["handled"])
        #expect(bench.log.events == ["r 1", "r 4", "r 2", "r 3"])
        #expect(bench.receiver.held.isEmpty)
    }
}
