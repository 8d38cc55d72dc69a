import Glibc
import KiiPush
import KiiPushTesting

/// Runs loops and honest traffic through fleets of real receivers, and reports whether every bound held.
@main
struct Simulation {
    static func main() async {
        let options: Options
        switch Options.read(Array(CommandLine.arguments.dropFirst())) {
        case .success(let read): options = read
        case .failure(.help): return print(Options.usage)
        case .failure(.wrong(let what)):
            complain("\(what)\n\(Options.usage)")
            exit(64)
        }
        if let other = options.other {
            let isFine = await other.run()
            if !isFine { exit(1) }
            return
        }
        let rows = await inParallel(options.plan.loops) { await $0.run() }
        let honest = await inParallel(options.plan.honest) { await $0.run() }
        let report = Report(
            loops: Array(zip(options.plan.loops, rows)), honest: Array(zip(options.plan.honest, honest)))
        print(options.isJSON ? report.json : report.text)
        for broken in report.broken { complain(broken) }
        if !report.broken.isEmpty { exit(1) }
    }
}

/// The runs.
struct Plan {
    var loops: [LoopRun] = []
    var honest: [HonestTraffic] = []

    /// The slow network.
    private static let slow = Chaos(delay: .seconds(5) ... .seconds(5))

    /// One loop of a large fleet until its end; the other plans cut it off.
    static func storm(_ devices: Int) -> Plan {
        var plan = Plan(isQuick: true, devices: [])
        plan.loops = [LoopRun(loop: .update, keys: .short, devices: devices, protections: [.careless])]
        return plan
    }

    init(isQuick: Bool, devices: [Int]?) {
        let styles: [PayloadFixture.KeyStyle] = isQuick ? [.long] : [.long, .short]
        for count in devices ?? [1, 2, 10] {
            for loop in Loop.allCases {
                for keys in styles { loops.append(LoopRun(loop: loop, keys: keys, devices: count)) }
            }
        }
        guard devices == nil else { return }
        for loop in Loop.allCases {
            for keys in styles {
                // Each write of a thousand devices reaches a thousand: their storm is cut off, too.
                var run = LoopRun(
                    loop: loop, keys: keys, devices: 1000, cap: 2000, capOfRate: isQuick ? 10_000 : 50_000)
                // A kill ends the messages under way one by one: two million here, and one run is as good as six.
                if loop != .update || keys == .short { run.protections.removeAll { $0 == .killSwitch } }
                if isQuick { run.protections = [.off, .lineage, .careless] }
                if !isQuick || loop == .update { loops.append(run) }
            }
        }
        for loop in Loop.allCases {
            for keys in styles where !isQuick || loop != .create {
                loops.append(LoopRun(loop: loop, keys: keys, devices: 10, chaos: .rough))
                if !isQuick { loops.append(LoopRun(loop: loop, keys: keys, devices: 2, chaos: .rough)) }
            }
        }
        loops.append(LoopRun(loop: .update, keys: .short, devices: 1, chaos: Self.slow))
        if !isQuick {
            // A day; and a storm of a hundred devices until its end.
            loops.append(
                LoopRun(loop: .update, keys: .short, devices: 10, seconds: 86_400, protections: [.rate, .careless]))
            loops.append(LoopRun(loop: .update, keys: .short, devices: 100, protections: [.careless]))
        }
        honest = [HonestTraffic(chaos: .none), HonestTraffic(chaos: .rough)]
        if !isQuick {
            // Jumps are per delivery, and more devices have more deliveries.
            var rough = Chaos.rough
            rough.jumps /= 5
            honest.append(HonestTraffic(devices: 50, chaos: rough))
        }
    }
}
