import KiiPush
import KiiPushLinux

/// `kiipush dead-letters`: the messages that were put aside, to be looked at, handled after all, or dropped.
enum DeadLettersCommand {
    static let actions: [String: StateOptions.Action] = [
        "list": .list, "show": .show, "replay": .replay, "drop": .drop,
    ]

    /// Reads the command line; nil when the answer was given already, with the exit code.
    static func options(_ arguments: [String], _ console: Console) -> (options: StateOptions?, code: ExitCode) {
        StateCommand.options("dead-letters", arguments, actions, help, isOfLetters: true, console)
    }

    static func run(_ arguments: [String], _ desk: AgentDesk, _ console: Console) async -> ExitCode {
        let (options, code) = options(arguments, console)
        guard let options else { return code }
        let all: [DeadLetter]
        do { all = try desk.deadLetters.letters() } catch {
            console.error("kiipush dead-letters: \(error)")
            return .failed
        }
        let letters = all.filter { options.takes($0) }
        for id in options.ids.sorted() where !letters.contains(where: { $0.id == id }) {
            console.error("kiipush dead-letters: there is no letter \(id) of that kind")
        }
        let missing = options.ids.count > letters.count
        let done: ExitCode
        switch options.action {
        case .replay: done = await replay(letters, options, desk, console)
        case .drop: done = drop(letters, options, desk, console)
        case .list, .show, .release:
            for letter in letters { console.print(letter.report(options)) }
            if letters.isEmpty, options.format == .text, !missing { console.print("no dead letters") }
            done = .fine
        }
        return missing ? .failed : done
    }

    private static func replay(
        _ letters: [DeadLetter], _ options: StateOptions, _ desk: AgentDesk, _ console: Console
    ) async -> ExitCode {
        if options.isDryRun {
            for letter in letters { console.print("would replay \(letter.id): \(letter.line)") }
            return .fine
        }
        guard let service = desk.service else {
            console.error(
                "kiipush dead-letters: no agent runs on this directory, and it is the agent that handles them")
            return .failed
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
        _ letters: [DeadLetter], _ options: StateOptions, _ desk: AgentDesk, _ console: Console
    ) -> ExitCode {
        for letter in letters {
            if options.isDryRun {
                console.print("would drop \(letter.id): \(letter.line)")
                continue
            }
            do {
                try desk.deadLetters.remove(letter.id)
                console.print("dropped \(letter.id)")
            } catch {
                console.error("kiipush dead-letters: \(letter.id): \(error)")
                return .failed
            }
        }
        return .fine
    }

    static let help = """
        kiipush dead-letters: the messages that an agent has put aside

        usage: kiipush dead-letters list   [FILTER…] [--format text|json] [--state DIR]
               kiipush dead-letters show   NUMBER…   [--format text|json] [--state DIR]
               kiipush dead-letters replay NUMBER…|FILTER…|--all [--rate N] [--dry-run] [--state DIR]
               kiipush dead-letters drop   NUMBER…|FILTER…|--all [--dry-run] [--state DIR]

          --reason R     those that were put aside for this: \(DeadLetter.Reason.allCases.map(\.rawValue).joined(separator: ", "))
          --route ID     those that this route did not handle
          --transport T  those that this transport brought
          --all          all of them
          --rate N       replay so many a second
          --dry-run      say what would be done
          --state DIR    the agent's state directory; \(StateCommand.standardDirectory)

        It works while the agent runs, and when it does not; but replaying needs the agent, whose handlers it calls.
        'show' prints the payload too. A letter that is handled is gone; one that is not stays. A letter that is the
        newest of many stands for messages whose payloads are gone: replaying it handles the newest one.
        """
}

extension StateOptions {
    /// Whether a letter is one of those asked for.
    func takes(_ letter: DeadLetter) -> Bool {
        (ids.isEmpty || ids.contains(letter.id)) && (reason == nil || letter.reason == reason)
            && (route == nil || letter.routes.contains { $0.utf8.elementsEqual(route?.utf8 ?? "".utf8) })
            && (transport == nil || letter.payload.transport?.name == transport)
    }
}

extension DeadLetter {
    /// Why, when, for which routes and how large, on one line; with the beginning of the cause, where that is long.
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
        parts.append("\(payload.bytes.count) bytes")
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
            writer.key("routes")
            writer.array { writer in for route in routes { writer.string(route) } }
            writer.member("attempts", Int64(attempts))
            writer.member("rulesGeneration", Int64(rulesGeneration))
            writer.member("cause", cause)
            writer.member("bytes", Int64(payload.bytes.count))
            writer.member("count", Int64(count))
            if let summary {
                writer.member("firstReceivedAt", summary.firstReceivedAt)
                writer.member("bytesLost", Int64(summary.bytesLost))
            }
            if withPayload {
                writer.member("raw", String(decoding: payload.bytes, as: UTF8.self))
            }
        }
        return writer.text
    }
}

extension DeadLetter.Summary {
    /// How many messages there are, since when, and what is gone of them.
    fileprivate var text: String {
        let since = firstReceivedAt.flatMap { UTCDate(milliseconds: $0) }.map { " since \($0.shortText)" } ?? ""
        return "the newest of \(count)\(since), \(bytesLost) bytes gone"
    }
}
