import KiiPush

/// `kiipush held`: the messages that the loop guard holds in a running agent.
enum HeldCommand {
    static let actions: [String: StateOptions.Action] = ["list": .list, "release": .release, "drop": .drop]

    /// Reads the command line; nil when the answer was given already, with the exit code.
    static func options(_ arguments: [String], _ console: Console) -> (options: StateOptions?, code: ExitCode) {
        StateCommand.options("held", arguments, actions, help, isOfLetters: false, console)
    }

    static func run(_ arguments: [String], _ desk: AgentDesk, _ console: Console) async -> ExitCode {
        let (options, code) = options(arguments, console)
        guard let options else { return code }
        guard let receiver = desk.receiver else { return withoutAgent(options, desk, console) }
        let chosen = receiver.held.filter { options.takes($0) }
        for id in options.ids.sorted() where !chosen.contains(where: { $0.id == id }) {
            console.error("kiipush held: no message \(id) of that kind is held")
        }
        let ids = Set(chosen.map(\.id))
        if options.isDryRun || options.action == .list {
            let holds = receiver.loopGuard?.holdsByMessage ?? [:]
            for held in chosen {
                let line = Line(held: held, hold: holds[held.id], now: receiver.clock.now)
                let text = options.format == .json ? line.json : escaped(line.text)
                console.print((options.isDryRun ? "would \(options.action.rawValue) " : "") + text)
            }
            if chosen.isEmpty, options.format == .text, options.ids.isEmpty { console.print("nothing is held") }
        } else if options.action == .release {
            let outcomes = await receiver.releaseHeld { ids.contains($0.id) }
            for outcome in outcomes { console.print("released: \(outcome)") }
        } else {
            console.print("dropped \(receiver.dropHeld { ids.contains($0.id) })")
        }
        return options.ids.count > chosen.count ? .failed : .fine
    }

    private static func withoutAgent(_ options: StateOptions, _ desk: AgentDesk, _ console: Console) -> ExitCode {
        let waiting = desk.waiting.map { "; \($0) messages wait in the inbox for the next one" } ?? ""
        let what = "no agent runs on this directory, so nothing is held\(waiting)"
        guard options.action == .list else {
            console.error("kiipush held: \(what)")
            return .failed
        }
        if options.format == .text { console.print(what) }
        return .fine
    }

    /// One held message, and why it waits.
    private struct Line {
        let held: HeldMessage
        let hold: LoopHold?
        let now: MonotonicInstant

        private var waited: Int64 { max(0, held.arrivedAt.duration(to: now).components.seconds) }

        var text: String {
            let why = hold.map { "; \($0.sentence(at: now))" } ?? ""
            return "\(held), \(held.message.raw.bytes.count) bytes, waiting for \(waited) s\(why)"
        }

        var json: String {
            var writer = JSONWriter()
            writer.object { writer in
                writer.member("id", Int64(clamping: held.id))
                writer.member("kind", held.message.kind.rawValue)
                writer.key("routes")
                writer.array { writer in for route in held.routes { writer.string(route) } }
                writer.member("bytes", Int64(held.message.raw.bytes.count))
                writer.member("waitedSeconds", waited)
                guard let hold else { return }
                writer.member("level", hold.level.rawValue)
                writer.member("step", hold.step.rawValue)
                if let until = hold.until {
                    writer.member("nextInSeconds", max(0, now.duration(to: until).components.seconds))
                }
            }
            return writer.text
        }
    }

    static let help = """
        kiipush held: the messages that the loop guard holds in an agent that runs

        usage: kiipush held list    [NUMBER…] [--route ID] [--format text|json] [--state DIR]
               kiipush held release NUMBER…|--route ID|--all [--dry-run] [--state DIR]
               kiipush held drop    NUMBER…|--route ID|--all [--dry-run] [--state DIR]

          --route ID   those that are held for this route
          --all        all of them
          --dry-run    say what would be done
          --state DIR  the agent's state directory; \(StateCommand.standardDirectory)

        'release' handles them now, whatever their breakers say; the kill switch still counts. 'drop' ends them unhandled.
        """
}

extension StateOptions {
    /// Whether a held message is one of those asked for.
    func takes(_ held: HeldMessage) -> Bool {
        (ids.isEmpty || ids.contains(held.id))
            && (route == nil || held.routes.contains { $0.utf8.elementsEqual(route?.utf8 ?? "".utf8) })
    }
}
