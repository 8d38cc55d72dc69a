import KiiPush
import KiiPushAgent
import KiiPushSystem

struct TopCommand: CommandWithOptions {
    private var directory = ""
    private var interval = Duration.seconds(2)
    private var count: Int?
    private var order = TopScreen.Order.busy
    private var isPlain = false

    static let table = OptionTable<TopCommand>([
        .value("--interval", "TIME", "the time between updates; 2s if not given", as: interval) { $0.interval = $1 },
        .choice(
            "--sort", "ORDER", "the order of routes: busy (longest handler time first), rate, failed, wait or name",
            of: TopScreen.Order.allCases.map { ($0.rawValue, $0) }
        ) { $0.order = $1 },
        .value(
            "--count", "N", "prints N snapshots and exits; the first one covers the time since the agent started",
            as: Arguments.number(1 ... .max)
        ) { $0.count = $1 },
        .flag("--plain", "prints snapshots on a terminal too, as when output is not a terminal") { $0.isPlain = true },
        .state { $0.directory = $1 },
    ])

    mutating func check(_ operands: [String]) throws(Arguments.Mistake) {
        try Arguments.none(operands, hint: StateOption.hint)
        directory = try StateOption.directory(directory)
    }

    func run(_ console: Console) async -> ExitCode {
        let agent = WatchedAgent(directory: directory)
        if console.isStandard, !isPlain, count == nil, let terminal = TopTerminal(console.ink) {
            return await show(agent, terminal)
        }
        return await print(agent, console.untilClosed)
    }

    private static let interval = Arguments.value("a time from 100ms to 1h,") { text in
        // A plain number means seconds.
        (Duration(rule: text) ?? Duration(rule: text + "s")).flatMap { duration in
            duration >= .milliseconds(100) && duration <= .seconds(3600) ? duration : nil
        }
    }

    // MARK: Snapshots

    /// Prints a snapshot at each interval, separated by empty lines.
    private func print(_ agent: WatchedAgent, _ console: Console) async -> ExitCode {
        var previous: (status: AgentStatus, at: ContinuousClock.Instant)?
        var left = count
        while true {
            let (status, now): (AgentStatus, ContinuousClock.Instant)
            do throws(WatchedAgent.Silence) { (status, now) = (try await agent.status().status, .now) } catch {
                return agent.tell(error, "top", console)
            }
            if previous != nil { console.print("") }
            var screen = TopScreen(status: status, order: order)
            screen.previous = previous.map { ($0.status, $0.at.duration(to: now) / .seconds(1)) }
            // All rows: a snapshot does not scroll.
            screen.size = ScreenSize(columns: ScreenSize.current.columns, rows: 10_000)
            for line in screen.lines { console.print(line) }
            previous = (status, now)
            left = left.map { $0 - 1 }
            if left == 0 { return .fine }
            do { try await Task.sleep(for: interval) } catch { return .fine }
        }
    }

    // MARK: Live

    /// Redraws the screen until a key or a signal ends it.
    private func show(_ agent: WatchedAgent, _ terminal: TopTerminal) async -> ExitCode {
        let signals = StopSignals {
            terminal.restore()
            exitProcess(.fine)
        }
        defer {
            terminal.restore()
            withExtendedLifetime(signals) {}
        }
        var (order, isPaused) = (order, false)
        var (last, previous): (Look?, Look?) = (nil, nil)
        var trouble: String?
        while true {
            if !isPaused, last.map({ $0.at.duration(to: .now) >= interval }) ?? true {
                do throws(WatchedAgent.Silence) {
                    let status = try await agent.status().status
                    (previous, last, trouble) = (last, Look(status: status, at: .now), nil)
                } catch {
                    trouble = agent.words(error)
                }
            }
            draw(last, previous, order, isPaused, trouble, terminal)
            let wait = last.map { ContinuousClock.now.duration(to: $0.at + interval) } ?? interval
            let key = await terminal.key(within: isPaused || trouble != nil ? interval : max(wait, .milliseconds(10)))
            switch key {
            case "q", "Q", "\u{3}", "\u{4}": return .fine
            case "p", " ": isPaused.toggle()
            case "s": order = order.next
            case let key?: order = TopScreen.Order.allCases.first { $0.key == key } ?? order
            case nil: break
            }
        }
    }

    private struct Look {
        let status: AgentStatus
        let at: ContinuousClock.Instant
    }

    private func draw(
        _ last: Look?, _ previous: Look?, _ order: TopScreen.Order, _ isPaused: Bool, _ trouble: String?,
        _ terminal: TopTerminal
    ) {
        let size = ScreenSize.current
        guard let last else {
            terminal.draw([Figures.column(trouble ?? "", size.columns), "q quits"], header: "")
            return
        }
        var screen = TopScreen(status: last.status, order: order, size: size)
        screen.previous = previous.map { ($0.status, $0.at.duration(to: last.at) / .seconds(1)) }
        let keys = "q quit  p pause  s or b r f w n sort"
        screen.note =
            trouble.map { "\($0); the numbers are old" } ?? "\(isPaused ? "PAUSED  " : "")\(keys)  [by \(order)]"
        terminal.draw(screen.lines, header: screen.header)
    }

    static let description = Command(
        name: "top", summary: "shows an agent's activity, live on a terminal", usage: ["[OPTION…]"],
        notes: [
            "Keys: q quits, p pauses, s sorts by the next column, b r f w n by one of them. BUSY is the share of "
                + "time that a route's handler runs, above 100% if several run at once; /S is the number of runs "
                + "that end per second."
        ],
        exits: [(.fine, "ended"), (.failed, "the agent does not answer"), (.nobody, "no agent is running")])
}
