import KiiPush
import KiiPushTesting

/// Heavy traffic without a loop, which the guard must not stop.
struct HonestTraffic {
    var devices = 10
    var chaos = Chaos.rough
    var seconds = 3600

    /// How it ended, and the expectations that failed.
    struct Result {
        let report: FleetReport
        let broken: [String]
    }

    var network: String { chaos == .none ? "quick" : "rough" }

    /// Handlers that change nothing in the cloud.
    private func receiver(_ device: SimulatedDevice) -> PushReceiver {
        let receiver = PushReceiver(app: SimulatedCloud.app, me: [device.identity], clock: device.clock)
        receiver.onPushToApp("objects", bucket: "*") { _, _ in }
        receiver.onPushToUser("topics", topic: "*") { _, _ in }
        return receiver
    }

    func run() async -> Result {
        let fleet = SimulatedFleet(devices: devices, keys: [.long, .short], chaos: chaos) { receiver($0) }
        // 1,000 objects of one bucket, at once.
        fleet.at(.seconds(5)) { fleet in
            let bucket = KiiBucket(scope: .app, name: "imported")
            for number in 1...1000 { fleet.cloud.put(KiiObject(bucket: bucket, id: "\(number)"), by: .user(id: "U-1")) }
        }
        // 1,000 people who answer one call, within a second or so.
        fleet.at(.seconds(60)) { fleet in
            let topic = KiiTopic(scope: .app, name: "votes")
            for number in 1...1000 { fleet.cloud.send([:], to: topic, by: .user(id: "U-\(number)")) }
        }
        // One object that changes each second.
        let chatty = KiiObject(bucket: KiiBucket(scope: .app, name: "sensors"), id: "power")
        for second in 0..<seconds {
            fleet.at(.seconds(second)) { fleet in fleet.cloud.put(chatty, by: .thing(id: "th.meter")) }
        }
        let report = await fleet.run(for: .seconds(seconds + 2 * 3600))
        var broken: [String] = []
        if report.stopped > 0 { broken.append("\(report.stopped) honest messages were stopped") }
        if report.unhandled > 0 { broken.append("\(report.unhandled) honest messages were lost") }
        if report.handledTwice > 0 { broken.append("\(report.handledTwice) messages were handled twice") }
        if report.stop != .quiet { broken.append("it did not come to an end: \(report.stop)") }
        return Result(report: report, broken: broken)
    }
}
