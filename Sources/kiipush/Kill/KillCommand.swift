import KiiPush
import KiiPushAgent
import KiiPushSystem
import KiiPushRules

struct KillCommand {
    private let name: String
    private let console: Console
    private let directory: String
    private let file: KillFile
    private let now: UTCDate

    static func kill(_ arguments: [String], _ console: Console, now: UTCDate = .now) async -> ExitCode {
        let reading = killCommand.read(arguments, by: KillOptions.killTable, into: KillOptions(), console) {
            options, operands throws(Arguments.Mistake) in try options.kill(operands)
        }
        return await run("kill", reading, console, now)
    }

    static func revive(_ arguments: [String], _ console: Console, now: UTCDate = .now) async -> ExitCode {
        let reading = reviveCommand.read(arguments, by: KillOptions.reviveTable, into: KillOptions(), console) {
            options, operands throws(Arguments.Mistake) in try options.revive(operands)
        }
        return await run("revive", reading, console, now)
    }

    private static func run(
        _ name: String, _ reading: Command.Reading<KillOptions>, _ console: Console, _ now: UTCDate
    ) async -> ExitCode {
        guard case .options(let options) = reading else { return reading.code }
        let directory = options.directory
        let command = KillCommand(
            name: name, console: console, directory: directory, file: KillFile(directory: directory), now: now)
        guard command.hasDirectory() else { return .failed }
        do throws(KillFileError) { return try await command.run(options) } catch {
            return console.fail(escaped("\(error)"))
        }
    }

    private func run(_ options: KillOptions) async throws(KillFileError) -> ExitCode {
        switch options.action {
        case .list: return try await list()
        case .reset: return try await reset()
        case .kill(let target, let duration): return try await kill(target, for: duration)
        case .revive(let target): return try await revive(target)
        }
    }

    // MARK: Actions

    /// Whether the state directory exists; reports it if not, so that a typing error is noticed at once.
    private func hasDirectory() -> Bool {
        if StateDirectory.isThere(directory) { return true }
        console.error(
            "kiipush \(name): there is no state directory \(escaped(directory)), so no agent runs there; name the "
                + "agent's directory with --state, or create it for a future agent")
        return false
    }

    private func kill(_ target: KillTarget, for duration: Duration) async throws(KillFileError) -> ExitCode {
        // Asked before anything is written: in the file, a refused kill would take effect with a later rule. But an
        // emergency does not wait for an agent that hangs: it gets the kill unchecked.
        var presence = await AgentPresence.of(directory, target: target, patience: Self.checkLimit)
        if presence.hasNothing { return refuse(presence) }
        let end = now.advanced(by: duration).roundedUpToSecond
        let edit = try file.kill(target, until: end, now: now)
        switch presence {
        case .success, .failure(.silent): presence = await AgentPresence.of(directory, target: target)
        case .failure(.unknown), .failure(.nobody): break
        }
        report(edit.problems, areGone: true)
        if presence.hasNothing, edit.before == nil {
            try file.revive(target, now: now)
            return refuse(presence)
        }
        let words = words(target, isChecked: presence.knows)
        let after = edit.after ?? end
        // Nothing is off if the agent has nothing of that name.
        if presence.lack == nil {
            console.print(
                after > end
                    ? "\(words) stays off until \(after.shortText), which is later; revive it first to end it sooner"
                    : "\(words) is off until \(after.shortText), for \(duration.inWords)")
        }
        console.print("kept in \(escaped(file.path))")
        if !presence.knows, case .route(let id) = target, Self.namesOfEverything.contains(id.lowercased()) {
            console.error("kiipush kill: '\(id)' is treated as a route's id; use '*' for everything")
        }
        // A device without a battery-backed clock starts in 1970.
        if now.milliseconds < Self.beginningOf2025 {
            console.error(
                "kiipush kill: the clock says \(now.shortText); this kill may end as soon as the clock is corrected")
        }
        return tell(presence) { killed in
            guard killed.contains(target.description) else { return "has not switched it off" }
            return presence.lack.map(Self.nothing)
        }
    }

    /// Reports that an agent has nothing to switch off.
    private func refuse(_ presence: AgentPresence) -> ExitCode {
        tell(presence) { _ in presence.lack.map(Self.nothing) }
    }

    /// How long an agent may take to check a target: it answers within milliseconds unless it hangs or is starting.
    private static let checkLimit = Duration.milliseconds(500)

    private static func nothing(_ lack: String) -> String { "has nothing to switch off for that: \(escaped(lack))" }

    private static let namesOfEverything: Set<String> = ["all", "everything", "any"]

    private static let beginningOf2025: Int64 = 1_735_689_600_000

    private func revive(_ target: KillTarget) async throws(KillFileError) -> ExitCode {
        let edit = try file.revive(target, now: now)
        let presence = await AgentPresence.of(directory, target: target)
        report(edit.problems, areGone: true)
        let words = words(target, isChecked: presence.knows)
        if edit.before == nil {
            let off = Suggestion.listed(
                try file.read().kills.filter { $0.value > now }.keys.map(\.description).sorted())
            console.print("\(words) was not off in \(escaped(file.path)); off: \(escaped(off))")
        } else {
            console.print("\(words) is on again")
        }
        return tell(presence) { $0.contains(target.description) ? "keeps it off" : nil }
    }

    private func reset() async throws(KillFileError) -> ExitCode {
        guard let kept = try file.reset() else {
            console.print("\(escaped(file.path)) is readable or missing; nothing was reset")
            return .fine
        }
        console.print("nothing is off any more; the unreadable file is now \(escaped(kept))")
        return tell(await AgentPresence.of(directory)) { $0.isEmpty ? nil : "keeps something off" }
    }

    private func list() async throws(KillFileError) -> ExitCode {
        let contents = try file.read()
        let kills = contents.kills.filter { $0.value > now }.sorted {
            ($0.value, "\($0.key)") < ($1.value, "\($1.key)")
        }
        for (target, end) in kills {
            console.print(
                "\(words(target, isChecked: false)) is off until \(end.shortText), for "
                    + now.roundedUpToSecond.duration(to: end).inWords)
        }
        if kills.isEmpty { console.print("nothing is off in \(escaped(file.path))") }
        report(contents.problems)
        let code: ExitCode = contents.problems.isEmpty ? .fine : .failed
        // Without an agent, this list applies to the next one.
        let presence = await AgentPresence.of(directory)
        if case .failure(.nobody) = presence { return code }
        return max(
            code,
            tell(presence) { killed in
                Set(killed).isSuperset(of: kills.map(\.key.description)) ? nil : "has not switched all of that off"
            })
    }

    // MARK: The obeying agent

    /// Reports which agent obeys, or why none does; `refusal` says how it disobeys, given its switched-off targets.
    private func tell(_ presence: AgentPresence, _ refusal: ([String]) -> String?) -> ExitCode {
        let place = escaped(directory)
        switch presence {
        case .success(let agent):
            let name = "agent \(agent.process), which runs in \(escaped(agent.state)) since \(escaped(agent.since))"
            guard let killed = agent.killed else {
                return console.fail("kiipush \(self.name): \(name), has no loop guard, so nothing can be switched off")
            }
            if let refusal = refusal(killed) { return console.fail("kiipush \(self.name): \(name), \(refusal)") }
            console.print("confirmed by \(name)")
            return .fine
        case .failure(.silent(let why)):
            return console.fail("kiipush \(name): an agent runs in \(place), but did not confirm: \(why)")
        case .failure(.unknown(let why)):
            return console.fail("kiipush \(name): whether an agent runs in \(place) is unknown: \(why)")
        case .failure(.nobody):
            return console.fail(
                "kiipush \(name): no agent answers in \(place), so nothing is confirmed; the next one obeys from its start",
                .nobody)
        }
    }

    // MARK: Texts

    private func report(_ problems: [RulesError.Problem], areGone: Bool = false) {
        for problem in problems { console.error(escaped("\(problem)")) }
        if areGone, !problems.isEmpty { console.error("kiipush \(name): what had no effect is no longer in the file") }
    }

    /// The description of a target; the file does not know the program's routes.
    private func words(_ target: KillTarget, isChecked: Bool) -> String {
        switch target {
        case .everything: "everything"
        case .bucket(let uri): "bucket \(escaped(uri.description))"
        case .route(let id): "route '\(escaped(id))'\(isChecked ? "" : " (if the program has a route of that name)")"
        }
    }
}
