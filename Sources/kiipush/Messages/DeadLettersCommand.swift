import KiiPush
import KiiPushDelivery
import KiiPushLinux
import KiiPushSystem

/// `kiipush dead-letters`: lists, replays or drops dead letters.
enum DeadLettersCommand {
    static let command = StateCommand.command(
        Command(
            name: "dead-letters", summary: "shows, replays and drops dead letters",
            usage: ["COMMAND [OPTION…]"],
            about: [
                .text(
                    "Works with or without a running agent, except for replay, which calls the agent's handlers. "
                        + "NUMBER is one that 'list' shows; FILTER is --reason, --route or --transport.")
            ],
            exits: [
                (.fine, "done"),
                (.failed, "a message was not found or failed"),
                (.nobody, "replay needs an agent, and none is running"),
            ]),
        [
            (
                .list,
                Command(
                    name: "dead-letters list", summary: "lists dead letters", usage: ["[NUMBER…] [OPTION…]"],
                    exits: [(.fine, "listed"), (.failed, "no such number, or the store cannot be read")])
            ),
            (
                .show,
                Command(
                    name: "dead-letters show", summary: "shows dead letters with their payloads",
                    usage: ["NUMBER… [OPTION…]"],
                    exits: [(.fine, "shown"), (.failed, "no such number, or the store cannot be read")])
            ),
            (
                .replay,
                Command(
                    name: "dead-letters replay", summary: "handles dead letters again, in the agent",
                    usage: ["NUMBER…|FILTER…|--all [OPTION…]"],
                    notes: [
                        .text(
                            "Dead letters that are handled are removed; the others are kept. A dead letter that "
                                + "summarizes many messages has the payload of the newest one only: replaying it "
                                + "handles that one.")
                    ],
                    exits: [
                        (.fine, "all were handled"),
                        (.failed, "one was not handled, or none matched"),
                        (.nobody, "no agent is running"),
                    ])
            ),
            (
                .drop,
                Command(
                    name: "dead-letters drop", summary: "deletes dead letters permanently",
                    usage: ["NUMBER…|FILTER…|--all [OPTION…]"],
                    exits: [
                        (.fine, "dropped"),
                        (.failed, "one could not be dropped, or none matched"),
                    ])
            ),
        ])

    static func run(_ arguments: [String], _ session: StateSession, _ console: Console) async -> ExitCode {
        let reading = StateCommand.options(command.name, arguments, console)
        guard case .options(let options) = reading else { return reading.code }
        let all: [DeadLetter]
        do { all = try session.deadLetters.letters() } catch {
            console.error("kiipush dead-letters: \(error)")
            return .failed
        }
        let letters = all.filter { options.takes($0) }
        for id in options.ids.sorted() where !letters.contains(where: { $0.id == id }) {
            console.error("kiipush dead-letters: there is no dead letter \(id) that matches")
        }
        let missing = options.ids.count > letters.count
        if letters.isEmpty, options.action.changes {
            return missing ? .failed : tellOfNone(of: all, options, console)
        }
        let done: ExitCode
        switch options.action {
        case .replay: done = await replay(letters, options, session, console)
        case .drop: done = drop(letters, options, session, console)
        case .list, .show:
            for letter in letters { console.print(letter.report(options)) }
            if letters.isEmpty, options.format == .text, !missing { console.print("no dead letters") }
            done = .fine
        }
        return missing ? .failed : done
    }

    /// Reports that nothing was done because no dead letter matches.
    private static func tellOfNone(of all: [DeadLetter], _ options: StateOptions, _ console: Console) -> ExitCode {
        let nothing = "nothing \(options.action.done)"
        if all.isEmpty {
            console.print("no dead letters, so \(nothing)")
            return options.isNarrowed ? .failed : .fine
        }
        let routes = Set(all.flatMap(\.routes)).sorted()
        let unknown = options.route.flatMap { route in
            routes.contains { $0.utf8.elementsEqual(route.utf8) }
                ? nil : "; " + Suggestion.unknown("route", route, known: routes)
        }
        let count = counted(all.count, "dead letter")
        console.error(
            escaped("kiipush dead-letters: \(nothing): none of \(count) matches\(unknown ?? "")"))
        return .failed
    }

    private static func replay(
        _ letters: [DeadLetter], _ options: StateOptions, _ session: StateSession, _ console: Console
    ) async -> ExitCode {
        if options.isDryRun {
            for letter in letters { console.print("would replay \(letter.id): \(letter.line)") }
            return .fine
        }
        guard let service = session.service else {
            console.error(
                "kiipush dead-letters: no agent runs in this directory, and only an agent can replay them")
            return .nobody
        }
        var code = ExitCode.fine
        for (index, letter) in letters.enumerated() {
            if index > 0, let rate = options.rate {
                do { try await Task.sleep(for: .nanoseconds(1_000_000_000 / rate)) } catch { return .failed }
            }
            let outcome = await service.replay(letter)
            console.print("\(letter.id): \(outcome)")
            if case .handled = outcome {} else { code = .failed }
        }
        return code
    }

    private static func drop(
        _ letters: [DeadLetter], _ options: StateOptions, _ session: StateSession, _ console: Console
    ) -> ExitCode {
        for letter in letters {
            if options.isDryRun {
                console.print("would drop \(letter.id): \(letter.line)")
                continue
            }
            do {
                try session.deadLetters.remove(letter.id)
                console.print("dropped \(letter.id)")
            } catch {
                console.error("kiipush dead-letters: \(letter.id): \(error)")
                return .failed
            }
        }
        return .fine
    }
}

extension StateOptions {
    /// Whether the filters accept a dead letter.
    func takes(_ letter: DeadLetter) -> Bool {
        (ids.isEmpty || ids.contains(letter.id)) && (reason == nil || letter.reason == reason)
            && (route == nil || letter.routes.contains { $0.utf8.elementsEqual(route?.utf8 ?? "".utf8) })
            && (transport == nil || letter.payload.transport?.name == transport)
    }
}

extension DeadLetter {
    /// The reason, the time, the routes and the size on one line; with the beginning of a long cause.
    var line: String { line(mostOfCause: 80) }

    private func line(mostOfCause: Int) -> String {
        var parts = [reason.rawValue]
        if let receivedAt, let date = UTCDate(milliseconds: receivedAt) { parts.append("arrived \(date.shortText)") }
        if let transport = payload.transport { parts.append("by \(escaped(transport.name))") }
        parts.append(routes.isEmpty ? "no route" : "for \(routes.map(escaped).joined(separator: " "))")
        if attempts > 0 { parts.append("tried \(attempts)") }
        if let cause {
            let shown = cause.count > mostOfCause ? cause.prefix(mostOfCause) + "…" : cause[...]
            parts.append("last \(escaped(String(shown)))")
        }
        parts.append(counted(payload.bytes.count, "byte"))
        if let summary { parts.append(summary.text) }
        return parts.joined(separator: ", ")
    }

    fileprivate func report(_ options: StateOptions) -> String {
        switch options.format {
        case .json: return json(withPayload: options.action == .show)
        case .text:
            guard options.action == .show else { return "\(id): \(line)" }
            return "\(id): \(line(mostOfCause: .max))\n  \(escaped(String(decoding: payload.bytes, as: UTF8.self)))"
        }
    }

    private func json(withPayload: Bool) -> String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("id", Int64(clamping: id))
            writer.member("reason", reason.rawValue)
            writer.member("receivedAt", receivedAt)
            writer.member("transport", payload.transport?.name)
            writer.member("routes", routes)
            writer.member("attempts", attempts)
            writer.member("rulesGeneration", Int64(rulesGeneration))
            writer.member("cause", cause)
            writer.member("bytes", payload.bytes.count)
            writer.member("count", count)
            if let summary {
                writer.member("firstReceivedAt", summary.firstReceivedAt)
                writer.member("bytesLost", summary.bytesLost)
            }
            if withPayload {
                writer.member("raw", String(decoding: payload.bytes, as: UTF8.self))
            }
        }
        return writer.text
    }
}

extension DeadLetter.Summary {
    /// The number of messages, the first time, and the payloads that were not kept.
    fileprivate var text: String {
        let since = firstReceivedAt.flatMap { UTCDate(milliseconds: $0) }.map { " since \($0.shortText)" } ?? ""
        return "the newest of \(count)\(since), \(counted(bytesLost, "byte")) gone"
    }
}
