import KiiPush
import KiiPushTesting

@main
struct Simulation {
    static func main() async {
        let clock = ContinuousClock()
        for devices in [1, 2, 10] {
            for loop in Loop.allCases {
                for keys in [PayloadFixture.KeyStyle.long, .short] {
                  for chaos in [Chaos.none, .rough] {
                    let run = LoopRun(loop: loop, keys: keys, devices: devices, chaos: chaos)
                    let start = clock.now
                    print(run.title, "bound", run.bound)
                    for cell in await run.run() {
                        print("   ", cell.protection.title, cell.report.stop, cell.report.mostHandled, "growth", cell.report.growth ?? 0, "deliveries", cell.report.deliveries, "held", cell.report.held, cell.report.released, "dl", cell.report.count("deadLettered"), cell.broken)
                    }
                    print("   ", clock.now - start)
                  }
                }
            }
        }
        for chaos in [Chaos.none, .rough] {
            var h = HonestTraffic(); h.chaos = chaos
            let start = clock.now
            let (r, b) = await h.run()
            print(r.stop, r.deliveries, r.handled, "held", r.held, r.released, r.longestHold, "jumps", r.jumps, r.outcomes.filter { $0.messages > 0 }.map { "\($0.outcome) \($0.reason ?? "") \($0.messages)" }, b, clock.now - start)
        }
    }
}
