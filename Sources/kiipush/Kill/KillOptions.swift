import KiiPush
import KiiPushLinux

/// What `kiipush kill` or `kiipush revive` was asked for.
struct KillOptions {
    enum Action {
        case help
        case list
        case reset
        case kill(KillTarget, Duration)
        case revive(KillTarget)
    }

    let action: Action
    /// The state directory; meaningless for help.
    let directory: String

    /// The rules file that the target is to be in; nil checks nothing.
    let rules: String?

    private init(_ action: Action, _ directory: String, rules: String? = nil) {
        self.action = action
        self.directory = directory
        self.rules = rules
    }

    /// Reads the arguments of `kiipush kill`.
    static func kill(_ arguments: [String]) throws(Arguments.Mistake) -> KillOptions {
        var arguments = Arguments(arguments)
        var (flags, duration, directory, rules) = ([String](), Duration?.none, String?.none, String?.none)
        while let option = try arguments.nextOption() {
            switch option {
            case "--for": duration = try Self.duration(of: &arguments)
            case "--list", "--reset": flags.append(option)
            case "--rules": rules = try arguments.value(of: option)
            case "--state": directory = try arguments.value(of: option)
            case "--help", "-h": return KillOptions(.help, "")
            default:
                let known = ["--for", "--list", "--reset", "--rules", "--state"]
                throw Arguments.Mistake(unknown: option, known: known)
            }
        }
        if let flag = flags.first {
            guard arguments.operands.isEmpty, duration == nil, rules == nil, flags.allSatisfy({ $0 == flag }) else {
                let what = flag == "--list" ? "shows what is off" : "puts a broken file out of the way"
                throw Arguments.Mistake(text: "\(flag) \(what), and takes neither a target nor an option but --state")
            }
            return KillOptions(flag == "--list" ? .list : .reset, try Self.directory(directory))
        }
        let target = try target(arguments.operands)
        return KillOptions(.kill(target, duration ?? .seconds(3600)), try Self.directory(directory), rules: rules)
    }

    /// Reads the arguments of `kiipush revive`.
    static func revive(_ arguments: [String]) throws(Arguments.Mistake) -> KillOptions {
        var arguments = Arguments(arguments)
        var directory: String?
        while let option = try arguments.nextOption() {
            switch option {
            case "--state": directory = try arguments.value(of: option)
            case "--help", "-h": return KillOptions(.help, "")
            default: throw Arguments.Mistake(unknown: option, known: ["--state"])
            }
        }
        let target = try target(arguments.operands)
        return KillOptions(.revive(target), try Self.directory(directory))
    }

    private static func duration(of arguments: inout Arguments) throws(Arguments.Mistake) -> Duration {
        let text = try arguments.value(of: "--for")
        guard let duration = Duration(rule: text), duration > .zero else {
            throw Arguments.Mistake(
                text:
                    "--for takes a number above 0 and ms, s, m, h or d, such as 90m, up to 36500d; not '\(escaped(text))'"
            )
        }
        return duration
    }

    private static func target(_ operands: [String]) throws(Arguments.Mistake) -> KillTarget {
        guard let text = operands.first, !text.isEmpty else {
            throw Arguments.Mistake(
                text: "name a target: a route's id, a bucket's kiicloud:// URI, or '*' for everything")
        }
        guard operands.count == 1 else {
            // An unquoted star has become the names of the files around.
            throw Arguments.Mistake(
                text: "one target at a time, not \(operands.count); a star needs its quotes: '*'")
        }
        guard let target = KillTarget(text) else {
            let why =
                text.utf8.contains(UInt8(ascii: "*")) && !text.contains(exactly: "://")
                ? "a pattern names no routes: name one by its id, or everything by '*'"
                : "of the URIs only a bucket's is, such as kiicloud://users/U/buckets/b"
            throw Arguments.Mistake(text: "'\(escaped(text))' is no target; \(why)")
        }
        return target
    }

    private static func directory(_ named: String?) throws(Arguments.Mistake) -> String {
        if let named, named.isEmpty { throw Arguments.Mistake(text: "--state needs a directory's name") }
        guard let directory = named ?? StateDirectory.standard else {
            throw Arguments.Mistake(text: "no state directory is known: name it with --state, or set HOME")
        }
        return directory
    }

    // MARK: Help

    private static let state = """
          --state DIR      the state directory of the program that is to obey; without it
                           $STATE_DIRECTORY, else $XDG_STATE_HOME/kiipush, else
                           ~/.local/state/kiipush
        """

    static let killHelp = """
        kiipush kill: switches off a route, a bucket or everything, for a time

        usage: kiipush kill TARGET [--for DURATION] [--rules FILE] [--state DIR]
               kiipush kill --list [--state DIR]
               kiipush kill --reset [--state DIR]

        A TARGET is a route's or a rule's id, a bucket's URI such as
        kiicloud://users/U/buckets/settings, or '*' for everything. An id is taken as it is, and
        switches nothing off in a program without a route of that name. While a target is off its
        messages end as looped (killSwitch), and those that are held for it become dead letters.
        A target that is off already keeps the later of the two ends.

          --for DURATION   a number and ms, s, m, h or d, such as 10m; 1h without it. The end is
                           rounded up to a second
          --rules FILE     refuses an id that no rule of that rules file has
          --list           shows what is off
          --reset          keeps a file that cannot be read as kill.json.broken and begins anew;
                           nothing is off then
        \(state)
          --help           shows this

        The kills are kept in DIR/kill.json, which a running program watches: no restart and no
        new release. The agent of DIR is asked whether it obeys, and its process id is told. A
        program of your own that watches the file obeys within two seconds, and cannot be asked.
        Exit codes: 0 the agent obeys; 1 there is no DIR, the file cannot be read or written, or an
        agent is there and does not obey; 2 kept, but no agent runs in DIR, and the next one that
        starts there will obey; 64 wrong usage.

        Try it:

          mkdir -p /tmp/state; kiipush kill settings --for 10m --state /tmp/state
          kiipush kill --list --state /tmp/state
        """

    static let reviveHelp = """
        kiipush revive: switches on again what kiipush kill switched off

        usage: kiipush revive TARGET [--state DIR]

        TARGET is what was killed, as 'kiipush kill --list' shows it.

        \(state)
          --help           shows this

        Exit codes: 0 the agent obeys, also when it was not off; 1 there is no DIR, the file cannot
        be read or written, or an agent is there and does not obey; 2 no agent runs in DIR;
        64 wrong usage.
        """
}
