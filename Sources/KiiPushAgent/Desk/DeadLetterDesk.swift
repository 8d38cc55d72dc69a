import KiiPush
import KiiPushDelivery
import KiiPushSystem

/// Performs `kiipush dead-letters` on the stores of an agent: lists, replays or drops dead letters.
package enum DeadLetterDesk {
    /// Runs a command, in the agent's process or in one that opened its files, and reports which it was, separately
    /// from the answer, which scripts read.
    package static func answer(
        _ arguments: [String], _ session: StateSession, _ console: DeskConsole
    ) async -> ExitCode {
        let code = await run(arguments, session, console)
        if code == .usage { return code }
        if let agent = session.agent {
            console.error(
                "answered by agent \(agent.process), which runs in \(escaped(agent.state)) since \(agent.since)")
        } else {
            console.error("no agent runs here; its files were read")
        }
        return code
    }

    package static func run(_ arguments: [String], _ session: StateSession, _ console: DeskConsole) async -> ExitCode {
        let options: StateOptions
        do throws(Arguments.Mistake) { options = try StateOptions(words: arguments) } catch {
            return console.fail("kiipush dead-letters: \(error.text)", .usage)
        }
        let all: [DeadLetter]
        do { all = try session.deadLetters.letters() } catch { return console.fail("kiipush dead-letters: \(error)") }
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
            if letters.isEmpty, !missing {
                if !all.isEmpty {
                    console.error("kiipush dead-letters: \(noneMatches(all, options))")
                } else if options.format == .text {
                    console.print("no dead letters")
                }
            }
            done = .fine
        }
        return missing ? .failed : done
    }

    /// Reports that nothing was done because no dead letter matches.
    private static func tellOfNone(of all: [DeadLetter], _ options: StateOptions, _ console: DeskConsole) -> ExitCode {
        let nothing = "nothing \(options.action == .drop ? "dropped" : "replayed")"
        if all.isEmpty {
            console.print("no dead letters, so \(nothing)")
            return options.isNarrowed ? .failed : .fine
        }
        return console.fail("kiipush dead-letters: \(nothing): \(noneMatches(all, options))")
    }

    /// That none of some dead letters matches, and whether no route of theirs has the name that was asked for.
    private static func noneMatches(_ all: [DeadLetter], _ options: StateOptions) -> String {
        let routes = Set(all.flatMap(\.routes)).sorted()
        let unknown = options.route.flatMap { route in
            routes.containsExactly(route)
                ? nil : "; " + Suggestion.unknown("route", route, known: routes)
        }
        return escaped("none of \(counted(all.count, "dead letter")) matches\(unknown ?? "")")
    }

    private static func replay(
        _ letters: [DeadLetter], _ options: StateOptions, _ session: StateSession, _ console: DeskConsole
    ) async -> ExitCode {
        if options.isDryRun {
            for letter in letters { console.print("would replay \(letter.id): \(letter.line)") }
            return .fine
        }
        guard let service = session.service else {
            return console.fail(
                "kiipush dead-letters: no agent runs in this directory, and only an agent can replay them", .nobody)
        }
        var code = ExitCode.fine
        for (index, letter) in letters.enumerated() {
            if index > 0, let rate = options.rate {
                do { try await Task.sleep(for: .nanoseconds(1_000_000_000 / rate)) } catch { return .failed }
            }
            // Who has interrupted the command wants no more of it.
            guard console.isHeard() else { return .failed }
            let outcome = await service.replay(letter)
            let refusal: ReplayRefused? =
                if case .failed(let failure) = outcome { failure.error as? ReplayRefused } else { nil }
            if refusal == .stopping {
                return console.fail(
                    "kiipush dead-letters: the agent is stopping; "
                        + "\(index) of \(counted(letters.count, "dead letter")) replayed")
            }
            if case .handled = outcome {} else { code = .failed }
            console.print("\(letter.id): \(refusal.map { "not replayed: \($0)" } ?? outcome.description)")
        }
        return code
    }

    private static func drop(
        _ letters: [DeadLetter], _ options: StateOptions, _ session: StateSession, _ console: DeskConsole
    ) -> ExitCode {
        var code = ExitCode.fine
        for letter in letters {
            if options.isDryRun {
                console.print("would drop \(letter.id): \(letter.line)")
                continue
            }
            do {
                if try session.service?.drop(letter) ?? session.deadLetters.remove(letter) {
                    console.print("dropped \(letter.id)")
                } else {
                    console.error("kiipush dead-letters: \(letter.id): it has changed meanwhile; list it again")
                    code = .failed
                }
            } catch ReplayRefused.isRunning {
                console.error(
                    "kiipush dead-letters: \(letter.id): not dropped, because a replay of it is running; if it is still "
                        + "there after that, drop it then")
                code = .failed
            } catch { return console.fail("kiipush dead-letters: \(letter.id): \(error)") }
        }
        return code
    }
}

extension StateOptions {
    func takes(_ letter: DeadLetter) -> Bool {
        (ids.isEmpty || ids.contains(letter.id)) && (reason == nil || letter.reason == reason)
            && (route.map { letter.routes.containsExactly($0) } ?? true)
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
        JSONWriter.object { writer in
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
    }
}

extension DeadLetter.Summary {
    /// The number of messages, the first time, and the payloads that were not kept.
    fileprivate var text: String {
        let since = firstReceivedAt.flatMap { UTCDate(milliseconds: $0) }.map { " since \($0.shortText)" } ?? ""
        return "the newest of \(count)\(since), \(counted(bytesLost, "byte")) gone"
    }
}
