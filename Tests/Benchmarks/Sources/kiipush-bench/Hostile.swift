import Glibc
import KiiPush

/// What a byte of each hostile shape costs, beside a byte of an ordinary payload: decoded, classified, and all read.
struct HostileReport {
    /// How much more a byte of an accepted payload may cost than one of an ordinary payload.
    private static let bound = 20.0

    struct Row {
        let name: String
        let bytes: Int
        let nanosecondsPerByte: Double
    }

    let ordinary: Row
    let rows: [Row]

    private func ratio(_ row: Row) -> Double { row.nanosecondsPerByte / ordinary.nanosecondsPerByte }

    /// The shapes that cost too much.
    var tooSlow: [Row] { rows.filter { ratio($0) > Self.bound } }

    var text: String {
        let lines = ([ordinary] + rows).map { row in
            let name = row.name + (ratio(row) > Self.bound ? " !" : "")
            return line(
                name, width: 64, "\(row.bytes)", decimal(row.nanosecondsPerByte, 2), decimal(ratio(row), 1))
        }
        return ([line("per byte", width: 64, "bytes", "ns", "times the ordinary")] + lines).joined(separator: "\n")
    }
}

/// Times every shape at the largest size that is accepted; the best of so many rounds.
func measureHostile(_ options: Options) throws -> HostileReport {
    let secret = DedupeSecret.random()
    let rounds = max(options.rounds, 3)
    let ordinary = try measure("an ordinary payload", HostileShape.ordinary, secret, rounds: 100 * rounds)
    let rows = try HostileShape.all.map { shape in
        let payload = shape.payload(bytes: PayloadLimits.standard.bytes)
        return try measure(shape.name, payload, secret, rounds: rounds)
    }
    return HostileReport(ordinary: ordinary, rows: rows)
}

private func measure(
    _ name: String, _ payload: RawPayload, _ secret: DedupeSecret, rounds: Int
) throws -> HostileReport.Row {
    do {
        use(try PushMessage(payload).readAll(secret: secret))
    } catch {
        throw WrongResult(description: "\(name), \(payload.bytes.count) bytes: \(error)")
    }
    var best = Double.infinity
    for _ in 0..<rounds {
        let start = processorTime()
        if let message = try? PushMessage(payload) { use(message.readAll(secret: secret)) }
        best = min(best, processorTime() - start)
    }
    let bytes = payload.bytes.count
    return HostileReport.Row(name: name, bytes: bytes, nanosecondsPerByte: best / Double(bytes))
}

/// The processor time of this thread, in nanoseconds: a large payload takes longer than a turn beside other programs.
private func processorTime() -> Double {
    var time = timespec()
    // The call fills in `time`.
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}
