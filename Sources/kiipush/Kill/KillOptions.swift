import KiiPush
import KiiPushLinux

/// What `kiipush kill` or `kiipush revive` was asked for.
struct KillOptions {
    enum Action {
        case help
        case list
        case kill(KillTarget, Duration)
        case revive(KillTarget)
    }

    let action: Action
    /// The state directory; meaningless for help.
    let directory: String

    private init(_ action: Action, _ directory: String) {
        self.action = action
        self.directory = directory
    }

    /// Reads the arguments of `kiipush kill`.
    static func kill(_ arguments: [String]) throws(Arguments.Mistake) -> KillOptions {
        var arguments = Arguments(arguments)
        var (wantsList, duration, directory) = (false, Duration?.none, String?.none)
        while let option = try arguments.nextOption() {
            switch option {
            case "--for": duration = try Self.duration(of: &arguments)
            case "--list": wantsList = true
            case "--state": directory = try arguments.value(of: option)
            case "--help", "-h": return KillOptions(.help, "")
            default: throw Arguments.Mistake(text: "there is no option \(escaped(option))")
            }
        }
        if wantsList {
            guard arguments.operands.isEmpty, duration == nil else {
                throw Arguments.Mistake(text: "--list shows what is off, and takes neither a target nor --for")
            }
            return KillOptions(.list, try Self.directory(directory))
        }
        let target = try target(arguments.operands)
        return KillOptions(.kill(target, duration ?? .seconds(3600)), try Self.directory(directory))
    }

    /// Reads the arguments of `kiipush revive`.
    static func revive(_ arguments: [String]) throws(Arguments.Mistake) -> KillOptions {
        var arguments = Arguments(arguments)
        var directory: String?
        while let option = try arguments.nextOption() {
            switch option {
            case "--state": directory = try arguments.value(of: option)
            case "--help", "-h": return KillOptions(.help, "")
            default: throw Arguments.Mistake(text: "there is no option \(escaped(option))")
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
            throw Arguments.Mistake(
                text:
                    "'\(escaped(text))' is no target; of the URIs only a bucket's is, such as kiicloud://users/U/buckets/b"
            )
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

        usage: kiipush kill TARGET [--for DURATION] [--state DIR]
               kiipush kill --list [--state DIR]

        A TARGET is a route's or a rule's id, a bucket's URI such as
        kiicloud://users/U/buckets/settings, or '*' for everything. While it is off its messages
        end as looped (killSwitch), and those that are held for it become dead letters. A target
        that is off already ends last of the two.

          --for DURATION   a number and ms, s, m, h or d, such as 10m; 1h without it. The end is
                           rounded up to a second
          --list           shows what is off
        \(state)
          --help           shows this

        The kills are kept in DIR/kill.json, which a running program watches: no restart and no
        new release. Exit codes: 0 fine; 1 the file cannot be read or written; 64 wrong usage.

        Try it:

          kiipush kill settings --for 10m --state /tmp/state && kiipush kill --list --state /tmp/state
        """

    static let reviveHelp = """
        kiipush revive: switches on again what kiipush kill switched off

        usage: kiipush revive TARGET [--state DIR]

        TARGET is what was killed, as 'kiipush kill --list' shows it.

        \(state)
          --help           shows this

        Exit codes: 0 fine, also when it was not off; 1 the file cannot be read or written;
        64 wrong usage.
        """
}
