import KiiPush
import KiiPushTesting

/// Ten minutes of ten devices, with some layers of the loop guard.
struct Run {
    let name: String
    let layers: Set<LoopLayer>
    var isCareful = true
    /// When somebody throws the kill switch on all devices.
    var kill: Duration?

    static let devices = 10
    static let seconds = 600
    /// The number of deliveries at which a loop that nothing stops is cut off.
    static let cap = 20_000

    static let all: [Run] = [
        Run(name: "guard off", layers: []),
        Run(name: "identity alone", layers: [.identity]),
        Run(name: "echo alone", layers: [.echo]),
        Run(name: "kill switch, thrown after 4 s", layers: [.killSwitch], kill: .seconds(4)),
        Run(name: "pace alone", layers: [.pace]),
        Run(name: "identity and lineage", layers: [.identity, .lineage]),
        Run(name: "all layers", layers: Set(LoopLayer.allCases)),
        Run(name: "all layers, careless handler", layers: Set(LoopLayer.allCases), isCareful: false),
    ]

    func report() async -> FleetReport {
        let network = Chaos(delay: .milliseconds(500) ... .seconds(2))
        let fleet = SimulatedFleet(devices: Self.devices, chaos: network, sample: .milliseconds(100)) { device in
            let receiver = PushReceiver(app: SimulatedCloud.app, clock: device.clock) {
                Deduplicator()
                LoopGuard(me: [device.identity], settings: LoopSettings(layers: layers))
                ScopeFilter(serving: [.user("U-home")])
            }
            if isCareful {
                Thermostat.addHandler(to: receiver, of: device)
            } else {
                Thermostat.addCarelessHandler(to: receiver, of: device)
            }
            return receiver
        }
        if let kill {
            fleet.at(kill) { fleet in
                for receiver in fleet.receivers { receiver.loopGuard?.kill(.route("thermostat"), for: .seconds(3600)) }
            }
        }
        // Somebody turns the thermostat, once.
        fleet.cloud.put(Thermostat.object, ["target": .number("21.3")], by: .user(id: "U-home"))
        let isBounded = kill != nil || layers.contains(.pace)
        return await fleet.run(for: .seconds(Self.seconds), deliveries: isBounded ? .max : Self.cap)
    }
}
