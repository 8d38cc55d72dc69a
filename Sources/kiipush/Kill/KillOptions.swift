import KiiPush
import KiiPushAgent

struct KillOptions {
    enum Action {
        case list
        case reset
        case kill(KillTarget, Duration)
        case revive(KillTarget)
    }

    private(set) var action = Action.list
    private(set) var directory = ""
    private var duration: Duration?
    private var flags: [String] = []

    private static let state = CommandOption<KillOptions>.state("the state directory of the program") {
        $0.directory = $1
    }

    static let killTable = OptionTable<KillOptions>([
        .value(
            "--for", "DURATION",
            "how long: a number with ms, s, m, h or d, such as 10m; 1h if not given. The end is rounded up to a second",
            as: duration
        ) { $0.duration = $1 },
        .flag("--list", "shows what is off") { $0.flags.append("--list") },
        .flag("--reset", "renames an unreadable kill file to kill.json.broken and starts with no kills") {
            $0.flags.append("--reset")
        },
        state,
    ])

    static let reviveTable = OptionTable<KillOptions>([state])

    mutating func kill(_ operands: [String]) throws(Arguments.Mistake) {
        if let flag = flags.first {
            guard operands.isEmpty, duration == nil, flags.allSatisfy({ $0 == flag }) else {
                let what = flag == "--list" ? "shows what is off" : "puts a broken file out of the way"
                throw Arguments.Mistake(
                    text: "\(flag) \(what), and takes neither a target nor any option except --state")
            }
            action = flag == "--list" ? .list : .reset
        } else {
            action = .kill(try Self.target(operands), duration ?? .seconds(3600))
        }
        try setDirectory()
    }

    mutating func revive(_ operands: [String]) throws(Arguments.Mistake) {
        action = .revive(try Self.target(operands))
        try setDirectory()
    }

    private mutating func setDirectory() throws(Arguments.Mistake) { directory = try StateOption.directory(directory) }

    static let duration = Arguments.value(
        "a number above 0 and ms, s, m, h or d, such as 90m, up to 36500d;"
    ) { text in Duration(rule: text).flatMap { $0 > .zero ? $0 : nil } }

    private static func target(_ operands: [String]) throws(Arguments.Mistake) -> KillTarget {
        guard let text = operands.first, !text.isEmpty else {
            throw Arguments.Mistake(
                text: "name a target: a route's id, a bucket's kiicloud:// URI, or '*' for everything")
        }
        guard operands.count == 1 else {
            // The shell replaced an unquoted star by the names of files.
            throw Arguments.Mistake(text: "one target at a time, not \(operands.count); quote the star: '*'")
        }
        guard let target = KillTarget(text) else {
            let why =
                text.utf8.contains(UInt8(ascii: "*")) && !text.contains(exactly: "://")
                ? "patterns are not supported: use a route's id, or '*' for everything"
                : "only bucket URIs are, such as kiicloud://users/U/buckets/b"
            throw Arguments.Mistake(text: "'\(escaped(text))' is not a target; \(why)")
        }
        return target
    }
}

// The help texts of `kiipush kill` and `kiipush revive`.
extension KillCommand {
    static let killCommand = Command(
        name: "kill", summary: "switches off a route, a bucket or everything, for a time",
        usage: [
            "TARGET [--for DURATION] [--state DIR]", "--list [--state DIR]", "--reset [--state DIR]",
        ],
        about: [
            "TARGET is the id of a route or a rule, a bucket's URI such as kiicloud://users/U/buckets/settings, or "
                + "'*' for everything. If nothing in a running agent matches it, nothing is stored; without one, "
                + "or if it does not answer within half a second, ids are not checked. While a target is off, "
                + "its messages end as looped (killSwitch), and messages that wait become dead letters when their "
                + "turn comes. If a target is off already, the later end applies."
        ],
        options: KillOptions.killTable.texts,
        notes: [
            "Kills are stored in DIR/kill.json, which agents watch: no restart is needed. The command waits for "
                + "the agent of DIR to confirm the kill, and prints its process id. A handler that is running goes "
                + "on until it ends, or its time limit; to end it now, stop the agent."
        ],
        exits: [
            (.fine, "the agent obeys"),
            (
                .failed,
                "DIR does not exist, the file cannot be read or written, nothing in the agent matches the target, or "
                    + "the agent did not confirm"
            ),
            (.nobody, "stored, but no agent answers in DIR"),
        ],
        examples: [
            "mkdir -p /tmp/state; kiipush kill settings --for 10m --state /tmp/state",
            "kiipush kill --list --state /tmp/state",
        ],
        action: { arguments, console in await kill(arguments, console) })

    static let reviveCommand = Command(
        name: "revive", summary: "switches a killed target on again", usage: ["TARGET [--state DIR]"],
        about: ["TARGET is a killed target, as 'kiipush kill --list' prints it."],
        options: KillOptions.reviveTable.texts,
        exits: [
            (.fine, "the agent confirmed; also if the target was not off"),
            (
                .failed, "DIR does not exist, the file cannot be read or written, or the agent did not confirm"
            ),
            (.nobody, "no agent runs in DIR"),
        ],
        action: { arguments, console in await revive(arguments, console) })
}
