import KiiPush
import KiiPushTesting

// Ten devices keep one thermostat tidy, and write to the object that they were called for. Somebody turns it once.
var reports: [(run: Run, report: FleetReport)] = []
for run in Run.all { reports.append((run, await run.report())) }

func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
}

print("One turn of a thermostat, ten devices that write it back: ten minutes of it\n")
print("                               handled   writes  stopped")
for (run, report) in reports {
    let end =
        switch report.stop {
        case .cap: "cut off after \(Int(report.seconds)) s, and growing"
        case .timeOver: "slowed down, until somebody ends it"
        case .quiet: "over"
        }
    let stopped = report.count("looped") + report.count("superseded") + report.count("failed")
    print(
        padded(run.name, 31) + padded("\(report.handled)", 10) + padded("\(report.events - 1)", 8)
            + padded("\(stopped)", 9) + end)
}

let (honest, longestWait) = await HonestRun.report()
print("\nHonest traffic: one object changes \(HonestRun.perSecond) times a second for a minute")
print("\(honest.handled) of \(HonestRun.changes) handled, the longest wait \(longestWait)")

let arguments = CommandLine.arguments
if let place = arguments.firstIndex(of: "--svg"), place + 1 < arguments.count {
    try Picture(reports, honest: honest).write(to: arguments[place + 1])
}
