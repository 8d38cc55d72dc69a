import KiiPush

/// `kiipush held`: the messages that the loop guard holds in a running agent.
enum HeldCommand {
    static let command = StateCommand.command(
        Command(
            name: "held", summary: "shows, releases and drops messages held by the loop guard",
            usage: ["COMMAND [OPTION…]"],
            exits: [
                (.fine, "done"),
                (.failed, "a message was not found"), (.nobody, "no agent is running"),
            ]),
        [
            (
                .list,
                Command(
                    name: "held list", summary: "lists held messages and the reasons",
                    usage: ["[NUMBER…] [OPTION…]"],
                    exits: [
                        (.fine, "listed; nothing is held without an agent"), (.failed, "a number was not found"),
                    ])
            ),
            (
                .release,
                Command(
                    name: "held release", summary: "handles held messages now, without waiting for their breakers",
                    usage: ["NUMBER…|--route ID|--all [OPTION…]"], about: [.text("The kill switch still applies.")],
                    exits: [
                        (.fine, "released"),
                        (.failed, "no message matched"), (.nobody, "no agent is running"),
                    ])
            ),
            (
                .drop,
                Command(
                    name: "held drop", summary: "drops held messages without handling them",
                    usage: ["NUMBER…|--route ID|--all [OPTION…]"],
                    exits: [
                        (.fine, "dropped"),
                        (.failed, "no message matched"), (.nobody, "no agent is running"),
                    ])
            ),
        ], isOfLetters: false)

    static func run(_ arguments: [String], _ session: StateSession, _ console: Console) async -> ExitCode {
        let reading = StateCommand.options(command.name, arguments, console)
        guard case .options(let options) = reading else { return reading.code }
        guard let receiver = session.receiver else { return withoutAgent(options, session, console) }
        let chosen = receiver.held.filter { options.takes($0) }
        for id in options.ids.sorted() where !chosen.contains(where: { $0.id == id }) {
            console.error("kiipush held: no message \(id) of that kind is held")
        }
        if chosen.isEmpty, options.action.changes {
            let count = receiver.held.count
            let nothing = "nothing \(options.action.done)"
            if !options.ids.isEmpty { return .failed }
            if count == 0 {
                console.print("nothing is held, so \(nothing)")
            } else {
                let all = counted(count, "held message")
                console.error("kiipush held: \(nothing): none of \(all) matches")
            }
            return options.isNarrowed ? .failed : .fine
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

    private static func withoutAgent(_ options: StateOptions, _ session: StateSession, _ console: Console) -> ExitCode {
        let waiting =
            session.waiting.map {
                "; \(counted($0, "message")) \($0 == 1 ? "waits" : "wait") in the inbox for the next one"
            } ?? ""
        let what = "no agent runs on this directory, so nothing is held\(waiting)"
        guard options.action == .list else {
            console.error("kiipush held: \(what)")
            return .nobody
        }
        if options.format == .text { console.print(what) }
        return .fine
    }

    /// One held message, and the reason.
    private struct Line {
        let held: HeldMessage
        let hold: LoopHold?
        let now: MonotonicInstant

        private var waited: Int64 { max(0, held.arrivedAt.duration(to: now).components.seconds) }

        var text: String {
            let why = hold.map { "; \($0.sentence(at: now))" } ?? ""
            return "\(held), \(counted(held.message.raw.bytes.count, "byte")), waiting for \(waited) s\(why)"
        }

        var json: String {
            var writer = JSONWriter()
            writer.object { writer in
                writer.member("id", Int64(clamping: held.id))
                writer.member("kind", held.message.kind.rawValue)
                writer.member("routes", held.routes)
                writer.member("bytes", held.message.raw.bytes.count)
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
}

extension StateOptions {
    /// Whether the filters accept a held message.
    func takes(_ held: HeldMessage) -> Bool {
        (ids.isEmpty || ids.contains(held.id))
            && (route == nil || held.routes.contains { $0.utf8.elementsEqual(route?.utf8 ?? "".utf8) })
    }
}
