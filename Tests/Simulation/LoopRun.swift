import KiiPush
import KiiPushTesting

/// A loop on a fleet, once with each protection.
struct LoopRun {
    let loop: Loop
    let keys: PayloadFixture.KeyStyle
    let devices: Int
    var chaos = Chaos.none
    var seconds = 3600
    /// The number of deliveries at which an unstopped loop is cut off.
    var cap = 10_000
    /// The same for the runs with the rate layer, which should stop by themselves.
    var capOfRate = 300_000
    var protections = Protection.allCases

    /// How a run with one protection ended.
    struct Cell {
        let protection: Protection
        let report: FleetReport
        /// The asserted bound; nil if there is none.
        let bound: Int?
        /// The expectations that failed.
        let broken: [String]
    }

    var network: String {
        if chaos == .none { return "quick" }
        return chaos == .rough ? "rough" : "slow"
    }

    var networkAndTime: String { seconds == 3600 ? network : "\(network), \(seconds / 3600) h" }

    var keyName: String { keys == .short ? "APNs" : "long" }

    var title: String { "\(loop.rawValue), \(keyName) keys, \(devices) devices, \(networkAndTime)" }

    func run() async -> [Cell] {
        var cells: [Cell] = []
        for protection in protections { cells.append(await run(protection)) }
        return cells
    }

    private func run(_ protection: Protection) async -> Cell {
        let fleet = SimulatedFleet(devices: devices, keys: [keys], chaos: chaos, attempts: 2) {
            protection.receiver($0, loop)
        }
        loop.begin(fleet)
        let bound = bound(protection)
        var report = await fleet.run(for: .seconds(seconds), deliveries: bound == nil ? cap : capOfRate)
        var broken: [String] = []
        func expect(_ condition: Bool, _ what: String) { if !condition { broken.append(what) } }
        if let bound {
            expect(report.mostHandled <= bound, "\(report.mostHandled) were handled, and the bound is \(bound)")
            expect(report.handledTwice == 0, "\(report.handledTwice) messages were handled twice")
        } else if chaos == .none {
            expect(report.stop != .quiet, "the loop ended, and this layer is said to miss it")
            if protection == .off || protection == .killSwitch {
                // A large fleet that is cut off in the second generation has not shown all of its growth.
                let growth = Double(min(devices, cap / devices - 1))
                expect(report.growth ?? 0 >= growth, "it grew by \(report.growth ?? 0), not by \(devices)")
            }
        }
        if protection == .killSwitch {
            let before = report.handled
            for receiver in fleet.receivers { receiver.loopGuard?.kill(.everything, for: .seconds(3600)) }
            report = await fleet.run(for: .seconds(600))
            expect(report.handled == before, "\(report.handled - before) were handled after the kill")
            expect(report.stop == .quiet, "the kill did not end it")
        }
        return Cell(protection: protection, report: report, bound: bound, broken: broken)
    }

    /// The most messages of one cause that a device may handle under a protection; nil if it misses the loop.
    ///
    /// The limits of a layer are asserted too, so that the table stays true.
    private func bound(_ protection: Protection) -> Int? {
        switch protection {
        case .off, .killSwitch: nil
        case .identity: mostUnderIdentity
        case .echo: mostUnderEcho
        case .lineage: mostUnderLineage
        case .rate, .careless: mostUnderRate
        case .all:
            [mostUnderIdentity, mostUnderEcho, mostUnderLineage, mostUnderRate].compactMap(\.self).min()
        }
    }

    /// A device's own messages are dropped, those of others are not; and APNs names no sender in a Push to App.
    private var mostUnderIdentity: Int? {
        devices == 1 && (keys == .long || loop == .pingPong) ? 1 : nil
    }

    /// The event of a declared write is dropped only on the device that wrote.
    ///
    /// A failed write is declared again when its message is redelivered.
    private var mostUnderEcho: Int? { devices == 1 && loop != .pingPong ? 1 : nil }

    /// A lineage has at most eight handlers.
    ///
    /// One object is written eight times, however many devices there are. New objects double each time with two
    /// devices, and with ten there are a hundred million before the eighth.
    private var mostUnderLineage: Int? {
        switch loop {
        case .update: 9
        case .create, .pingPong: devices <= 2 ? (1 << 9) - 1 : nil
        }
    }

    private var mostUnderRate: Int? {
        let time = Duration.seconds(seconds)
        // A fleet whose messages take up to two seconds, are lost or arrive twice deceives the guard if keys cause each
        // other: each key's messages seem to arrive anyway.
        if loop == .pingPong, chaos == .rough, devices > 2 { return nil }
        // One or two devices on a slow network need not reach the rate.
        if chaos != .none { return loop.bound(\.anything, devices: devices, in: time) }
        return loop.bound(\.storm, devices: devices, in: time)
    }
}
