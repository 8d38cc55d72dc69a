import KiiPush
import KiiPushTesting

/// Honest traffic on one device: an object that others change ten times a second for a minute.
struct HonestRun {
    static let seconds = 60
    static let perSecond = 10
    static var changes: Int { seconds * perSecond }

    /// What the device handled, over time, and how long a change waited at most; its handler writes nothing.
    static func report() async -> (FleetReport, longestWait: Duration) {
        let fleet = SimulatedFleet(devices: 1, sample: .milliseconds(100)) { device in
            let receiver = PushReceiver(app: SimulatedCloud.app, me: [device.identity], clock: device.clock)
            receiver.onPushToApp(id: "display", bucket: "thermostats", object: "*") { _, _ in }
            return receiver
        }
        for number in 0..<changes {
            fleet.at(.milliseconds(number * 1000 / perSecond)) { fleet in
                fleet.cloud.put(
                    Thermostat.object, ["target": .number("\(20 + number % 5)")], by: .user(id: "U-home"))
            }
        }
        var longestWait = Duration.zero
        fleet.onHandled = { longestWait = max(longestWait, $0.delay) }
        let report = await fleet.run(for: .seconds(2 * seconds))
        return (report, longestWait)
    }
}
