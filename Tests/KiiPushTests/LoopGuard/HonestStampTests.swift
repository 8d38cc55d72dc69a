import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Devices that each write a field of their own for what a person changes, and hear of each other's writes.
struct HonestStampTests {
    /// A push under way to a device.
    private struct Push {
        let payload: RawPayload
        let device: Int
        let at: MonotonicInstant
    }

    /// How many messages were handled, and how many ended as a loop, of 60 changes of a person.
    private func run(
        seed: UInt64, devices: Int, pause: ClosedRange<Int>, delay: ClosedRange<Int>, _ style: PayloadFixture.KeyStyle
    ) async -> (handled: Int, ended: Int) {
        var random = SeededGenerator(seed: seed)
        let clock = ManualClock()
        let cloud = PatchedObject(clock)
        let written = Mutex<[Int]>([])
        let receivers = (0..<devices).map { number in
            let receiver = PushReceiver(
                me: [.thing(id: "th.\(number)")], loop: LoopSettings().without(.pace), clock: clock)
            receiver.onPushToApp("derive", bucket: "thermostats", object: "*") { event, context in
                let fields = cloud.fields
                let context = try context.continuing(fields: fields)
                guard fields["of\(number)"] != fields["target"], let target = fields["target"] else { return }
                var changes = ["of\(number)": target]
                context.stamp(&changes)
                let write = try context.willWrite(event.object)
                write.done(modifiedAt: cloud.patch(changes))
                written.withLock { $0.append(number) }
            }
            return receiver
        }
        var pushes: [Push] = []
        func push(by sender: String) {
            let payload = cloud.event(by: sender, style)
            for device in 0..<devices {
                let at = clock.now.advanced(by: .milliseconds(Int.random(in: delay, using: &random)))
                pushes.append(Push(payload: payload, device: device, at: at))
            }
        }
        var result = (handled: 0, ended: 0)
        var changes = 0
        var nextChange = MonotonicInstant.seconds(1)
        while changes < 60 || !pushes.isEmpty {
            let first = pushes.indices.min { pushes[$0].at < pushes[$1].at }
            if changes < 60, first.map({ nextChange < pushes[$0].at }) ?? true {
                if nextChange > clock.now { clock.advance(by: clock.now.duration(to: nextChange)) }
                changes += 1
                _ = cloud.patch(["target": .number("\(changes)")])
                push(by: "U-person")
                nextChange = clock.now.advanced(by: .milliseconds(Int.random(in: pause, using: &random)))
            } else if let first {
                let next = pushes.remove(at: first)
                if next.at > clock.now { clock.advance(by: clock.now.duration(to: next.at)) }
                let outcome = await receivers[next.device].receive(next.payload)
                if outcome.name == "handled" { result.handled += 1 }
                if outcome.description == "looped (lineage)" { result.ended += 1 }
                for number in written.withLock({ numbers in
                    defer { numbers = [] }
                    return numbers
                }) { push(by: "th.\(number)") }
            }
        }
        return result
    }

    @Test(
        "devices that derive fields from what a person changes never end a message as a loop, however the pushes arrive",
        arguments: [2, 3, 8], PayloadFixture.KeyStyle.allCases)
    func derived(devices: Int, style: PayloadFixture.KeyStyle) async {
        for seed in 0..<5 {
            // Each device hears of all writes before the next change.
            let result = await run(
                seed: UInt64(seed), devices: devices, pause: 11_000...31_000, delay: 50...5000, style)
            #expect(result.handled >= 60 * devices && result.ended == 0, "seed \(seed)")
        }
    }
}
