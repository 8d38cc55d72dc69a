import Dispatch
import Glibc
import KiiPushAgent
import KiiPushSystem
import Synchronization

/// Which traffic is sent: honest, looping and flooding, each to an agent of its own.
struct TrafficPlan {
    private struct Case: Sendable {
        let name: String
        let make: @Sendable () throws -> TrafficRow
    }

    /// What runs at the same time, one group after the other: what measures seconds side by side, what measures
    /// milliseconds or takes all of the machine alone.
    private var groups: [[Case]] = []

    /// Chooses the rows.
    ///
    /// - Parameters:
    ///   - tool: the `kiipush` that receives.
    ///   - minutes: how long streams and loops go on; nil for the quick run.
    ///   - only: words in the names of the rows to run; nil for all.
    ///   - seed: what chance depends on.
    /// - Throws: when there is no such row.
    init(tool: String, minutes: Int?, only: String?, seed: UInt64) throws {
        let open = OpenLoop.all(seconds: minutes.map { Double($0 * 60) } ?? 60, seed: seed)
        let closed = ClosedLoop.all(
            seconds: minutes.map { Double($0 * 60) } ?? 40, seed: seed, isLong: minutes != nil)
        let mixed = Mixed.Key.allCases.map { Mixed(key: $0, seconds: minutes.map { Double($0 * 60) } ?? 40) }
        let floods = Flood.Kind.allCases.map { Flood(kind: $0) } + [Flood(kind: .object, source: .broker)]
        let latency =
            minutes == nil
            ? Latency(idle: 12, flood: 10, rate: 1.5) : Latency(idle: 120, flood: 600, rate: 0.5)
        groups.append(open.map { row in Case(name: row.name) { try row.row(tool: tool) } })
        groups[0] += mixed.map { row in Case(name: row.name) { try row.row(tool: tool) } }
        groups.append(closed.map { row in Case(name: row.name) { try row.row(tool: tool) } })
        groups += floods.map { row in [Case(name: row.name) { try row.row(tool: tool) }] }
        groups.append([Case(name: latency.name) { try latency.row(tool: tool) }])
        let hasBroker = access(Broker.program, X_OK) == 0
        if !hasBroker { complain("no \(Broker.program), so nothing is tried over MQTT") }
        groups = groups.map { group in
            group.filter { row in
                (hasBroker || !row.name.contains("MQTT")) && (only.map { row.name.contains($0) } ?? true)
            }
        }
        guard groups.contains(where: { !$0.isEmpty }) else { throw Trouble("no traffic has such a name") }
    }

    /// Sends all of it, prints the table, and says what did not hold.
    func run() -> [String] {
        let signals = StopSignals { isInterrupted.store(true, ordering: .relaxed) }
        defer { withExtendedLifetime(signals) {} }
        let rows = groups.flatMap { Self.run($0) }
        print(TrafficRow.tables(rows))
        return rows.flatMap { row in row.broken.map { "\(row.traffic): \($0)" } }
    }

    /// Runs a group, each row on a thread of its own.
    private static func run(_ group: [Case]) -> [TrafficRow] {
        guard !isInterrupted.load(ordering: .relaxed) else { return [] }
        let rows = Mutex<[Int: TrafficRow]>([:])
        let threads = DispatchGroup()
        for (index, one) in group.enumerated() {
            threads.enter()
            DispatchQueue(label: one.name).async {
                var row = TrafficRow(one.name)
                do { row = try one.make() } catch { row.broken.append("\(error)") }
                complain("\(one.name): \(row.broken.isEmpty ? "holds" : "DOES NOT HOLD")")
                rows.withLock { $0[index] = row }
                threads.leave()
            }
        }
        threads.wait()
        return rows.withLock { rows in rows.sorted { $0.key < $1.key }.map(\.value) }
    }
}
