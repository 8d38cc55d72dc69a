import KiiPush
import KiiPushLinux

/// `kiipush kill` and `kiipush revive`: the kill switch of a program that runs elsewhere.
struct KillCommand {
    private let console: Console
    private let file: KillFile
    private let now: UTCDate

    /// Runs `kiipush kill`.
    static func kill(_ arguments: [String], _ console: Console, now: UTCDate = .now) -> ExitCode {
        run("kill", KillOptions.killHelp, console, now) { () throws(Arguments.Mistake) in
            try KillOptions.kill(arguments)
        }
    }

    /// Runs `kiipush revive`.
    static func revive(_ arguments: [String], _ console: Console, now: UTCDate = .now) -> ExitCode {
        run("revive", KillOptions.reviveHelp, console, now) { () throws(Arguments.Mistake) in
            try KillOptions.revive(arguments)
        }
    }

    private static func run(
        _ name: String, _ help: String, _ console: Console, _ now: UTCDate,
        _ read: () throws(Arguments.Mistake) -> KillOptions
    ) -> ExitCode {
        let options: KillOptions
        do throws(Arguments.Mistake) { options = try read() } catch {
            console.error("kiipush \(name): \(error.text); try 'kiipush \(name) --help'")
            return .usage
        }
        let command = KillCommand(console: console, file: KillFile(directory: options.directory), now: now)
        do throws(KillFileError) {
            switch options.action {
            case .help: console.print(help)
            case .list: return try command.list()
            case .reset: try command.reset(options.directory)
            case .kill(let target, let duration):
                if let rules = options.rules, !command.check(target, against: rules) { return .failed }
                try command.kill(target, for: duration, options.directory, isChecked: options.rules != nil)
            case .revive(let target): try command.revive(target)
            }
            return .fine
        } catch {
            console.error("\(error)")
            return .failed
        }
    }

    // MARK: Actions

    /// Whether a rules file has a rule of that name; says so when it has none.
    private func check(_ target: KillTarget, against path: String) -> Bool {
        guard let rules = RulesFile.load(path, console) else { return false }
        guard case .route(let id) = target, !rules.rules.contains(where: { $0.id.utf8.elementsEqual(id.utf8) }) else {
            return true
        }
        let unknown = escaped(NearestName.unknown("rule", id, known: rules.rules.map(\.id)))
        console.error("kiipush kill: \(escaped(path)): \(unknown); for a route that code declares leave out --rules")
        return false
    }

    private func makeDirectory(_ directory: String) throws(KillFileError) {
        do throws(ErrorNumber) { try StateDirectory.make(directory) } catch {
            throw .unwritable(path: directory, error)
        }
    }

    private func kill(
        _ target: KillTarget, for duration: Duration, _ directory: String, isChecked: Bool
    ) throws(KillFileError) {
        try makeDirectory(directory)
        let words = isChecked ? bareWords(target) : words(target)
        let end = now.advanced(by: duration).roundedUpToSecond
        let edit = try file.kill(target, until: end, now: now)
        report(edit.problems)
        let after = edit.after ?? end
        if after > end {
            console.print(
                "\(words) stays off until \(after.shortText), which is later; revive it first to end it sooner")
        } else {
            console.print("\(words) is off until \(after.shortText), for \(duration.inWords)")
        }
        console.print("kept in \(escaped(file.path))")
        if !isChecked, case .route(let id) = target, Self.namesOfEverything.contains(id.lowercased()) {
            console.error("kiipush kill: '\(id)' is taken for a route's id; everything is '*'")
        }
        // A device without a battery for its clock begins in 1970.
        if now.milliseconds < Self.beginningOf2025 {
            console.error(
                "kiipush kill: the clock says \(now.shortText); once it is set right this kill may be over at once")
        }
    }

    private static let namesOfEverything: Set<String> = ["all", "everything", "any"]

    private static let beginningOf2025: Int64 = 1_735_689_600_000

    private func revive(_ target: KillTarget) throws(KillFileError) {
        let edit = try file.revive(target, now: now)
        report(edit.problems)
        if edit.before == nil {
            console.print("\(words(target)) was not off, as \(escaped(file.path)) says")
        } else {
            console.print("\(words(target)) is on again")
        }
    }

    private func reset(_ directory: String) throws(KillFileError) {
        try makeDirectory(directory)
        if let kept = try file.reset() {
            console.print("nothing is off any more; what could not be read is in \(escaped(kept))")
        } else {
            console.print("\(escaped(file.path)) can be read, or is not there; nothing was reset")
        }
    }

    private func list() throws(KillFileError) -> ExitCode {
        let contents = try file.read()
        let kills = contents.kills.filter { $0.value > now }.sorted {
            ($0.value, "\($0.key)") < ($1.value, "\($1.key)")
        }
        for (target, end) in kills {
            console.print("\(words(target)) is off until \(end.shortText), for \(now.duration(to: end).inWords)")
        }
        if kills.isEmpty { console.print("nothing is off, as \(escaped(file.path)) says") }
        report(contents.problems)
        return contents.problems.isEmpty ? .fine : .failed
    }

    // MARK: Words

    private func report(_ problems: [KillFileProblem]) {
        for problem in problems { console.error("\(problem)") }
    }

    /// A target's words; the file cannot know which routes a program has, and a name that none has switches nothing off.
    private func words(_ target: KillTarget) -> String {
        let words = bareWords(target)
        return if case .route = target { "\(words) (if the program has a route of that name)" } else { words }
    }

    private func bareWords(_ target: KillTarget) -> String {
        switch target {
        case .everything: "everything"
        case .bucket(let uri): "bucket \(escaped(uri.description))"
        case .route(let id): "route '\(escaped(id))'"
        }
    }
}
