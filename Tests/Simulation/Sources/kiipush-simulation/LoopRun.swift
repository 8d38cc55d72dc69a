import KiiPush
import KiiPushTesting

/// A loop on a fleet, once with each protection.
struct LoopRun {
    let loop: Loop
    let keys: PayloadFixture.KeyStyle
    let devices: Int
    var chaos = Chaos.none
    var time = Duration.seconds(3600)
    /// The number of deliveries at which a loop that grows is stopped.
    var cap = 100_000
    /// The same for the runs with the rate layer, which end by themselves.
    var capOfRate = Int.max
    var protections = Protection.allCases

    /// How a run with one protection ended.
    struct Cell {
        let protection: Protection
        let report: FleetReport
        /// What was expected and did not come true.
        let broken: [String]
    }

    var isRough: Bool { chaos != .none }

    var title: String {
        "\(loop.rawValue), \(keys == .short ? "APNs" : "long") keys, \(devices) device\(devices == 1 ? "" : "s")"
            + (isRough ? ", rough" : "")
    }

    var bound: Int { loop.bound(devices: devices, in: time, hasLoss: isRough) }

    func run() async -> [Cell] {
        var cells: [Cell] = []
        for protection in protections { cells.append(await run(protection)) }
        return cells
    }

    private func run(_ protection: Protection) async -> Cell {
        let fleet = SimulatedFleet(devices: devices, keys: [keys], chaos: chaos) { protection.receiver($0, loop) }
        loop.begin(fleet)
        let isRate = [.rate, .all, .silent].contains(protection)
        var report = await fleet.run(for: time, deliveries: isRate ? capOfRate : cap)
        var broken = expectations(protection, report)
        if protection == .killSwitch {
            let before = report.handled
            for receiver in fleet.receivers { receiver.loopGuard?.kill(.everything, for: .seconds(3600)) }
            report = await fleet.run(for: .seconds(600))
            if report.handled > before { broken.append("\(report.handled - before) were handled after the kill") }
            if report.stop != .quiet { broken.append("the kill did not end it") }
        }
        return Cell(protection: protection, report: report, broken: broken)
    }

    /// What a protection must do to this loop; what it must not be able to do is said too, so that the table stays true.
    private func expectations(_ protection: Protection, _ report: FleetReport) -> [String] {
        var broken: [String] = []
        func expect(_ condition: Bool, _ what: String) { if !condition { broken.append(what) } }
        expect(report.handledTwice == 0, "\(report.handledTwice) messages were handled twice")
        let goesOn = report.stop == .cap
        switch protection {
        case .off, .killSwitch:
            expect(goesOn, "without a guard the loop ended")
            if !isRough {
                expect(report.growth == Double(devices), "it grew by \(report.growth ?? 0) and not by \(devices)")
            }
        case .identity, .echo, .lineage:
            if let most = mostHandled(by: protection) {
                expect(report.stop == .quiet && report.mostHandled <= most, "\(report.mostHandled) were handled")
            } else if !isRough {
                expect(goesOn, "the layer is said to miss this loop, and did not")
            }
        case .rate, .all, .silent:
            expect(report.mostHandled <= bound, "\(report.mostHandled) of one cause were handled; the bound is \(bound)")
        }
        return broken
    }

    /// The most messages of one cause that a layer lets a device handle; nil where it cannot end the loop.
    private func mostHandled(by layer: Protection) -> Int? {
        switch (layer, loop) {
        // The device's own messages are cut; those of others are not, and APNs names nobody in a Push to App.
        case (.identity, .pingPong): devices == 1 ? 1 : nil
        case (.identity, _): devices == 1 && keys == .long ? 1 : nil
        // The write comes back to the device that made it, and to others.
        case (.echo, .update), (.echo, .create): devices == 1 && !isRough ? 1 : nil
        // One message, then up to 8 more from each of the devices; many devices make too many before the eighth.
        case (.lineage, .pingPong): devices <= 2 ? 1 << 9 : nil
        default: nil
        }
    }
}
