import Foundation
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport
@testable import kiipush

@Suite("a wrong command line")
struct WrongCommandLineTests {
    /// Command lines, and what is told of each; '' stands for a word without a letter.
    private static let table = """
        help inspekt => unknown command 'inspekt'; did you mean 'inspect'?
        inspekt => unknown command 'inspekt'; did you mean 'inspect'?
        lint f => unknown command 'lint'; did you mean 'rules lint'?
        drop 1 => unknown command 'drop'; did you mean 'dead-letters drop'?
        --rules r receive => --rules goes after the command, as in 'kiipush receive --rules'
        --verison => unknown option --verison; did you mean --version?
        silence => \
        unknown command 'silence'; the commands are demo, inspect, rules, receive, status, tap, top, dead-letters, \
        kill, revive, report, send, refresh, unsubscribe, install, completions, manual and help
        rules help tset => unknown command 'tset'; did you mean 'test'?
        rules tset => unknown command 'tset'; did you mean 'test'?
        rules prove => unknown command 'prove'; the commands are test, lint, explain, diff, graph, schema and help
        rules lnt => unknown command 'lnt'; did you mean 'lint'?
        rules lint => expected a rules file
        rules lint - --corpus - => standard input can be only one of the files
        rules lint - - => standard input can be only one of the files
        rules lint --param thing r.json => --param takes a name and a value, such as thing=th.7
        rules lint --param =x r.json => --param takes a name and a value, such as thing=th.7
        rules test => expected a rules file
        rules test --junit - f => --junit takes a file: standard output has the results
        manual receive => --page receive prints that page; ./receive is a directory
        rules test --covrage f => unknown option --covrage; did you mean --coverage?
        rules test --fail-under 101 f => --fail-under takes a number from 0 to 100, not '101'
        rules test --fail-under x f => --fail-under takes a number from 0 to 100, not 'x'
        rules explain a => expected a rules file and a payload
        rules explain - - => standard input can be only one of the files
        rules test - - => standard input can be only one of the files
        inspect - - => standard input can be only one of the files
        report -o /nowhere/p --rules - - => standard input can be only one of the files
        rules diff a b => --corpus FILE is missing
        rules diff a b --corpus c --limit -1 => --limit takes a number from 0 to 10000, not '-1'
        rules graph => expected one rules file
        rules schema x => it takes no arguments
        inspect --transport => --transport needs a value
        inspect --transport pigeon => --transport takes one of apns, fcm, jpush, mqtt, quickblox, not 'pigeon'
        inspect --format=xml => --format takes one of text, json, not 'xml'
        inspect --strict=yes => --strict takes no value
        demo loudly => it takes no arguments
        receive => --rules FILE is missing
        receive --rules r => say where payloads come from: --stdin, --unix PATH, --mqtt ADDRESS or --endpoint FILE
        receive --rules r --stdin --unix s => \
        payloads come from one place only: --stdin, --unix PATH, --mqtt ADDRESS or --endpoint FILE
        receive --rules r --stdin --ca-file c => --ca-file needs --mqtt or --endpoint
        receive --rules r --stdin --clean-session => --clean-session needs --mqtt or --endpoint
        receive --rules r --mqtt mqtt://h/t --transport fcm => --transport needs --stdin or --unix
        receive --rules r --stdin file => unexpected argument 'file'; pass the rules with --rules
        receive --rules r --stdin --concurrency 0 => --concurrency takes a number from 1 to 1000, not '0'
        receive --rules r --stdin --in-flight 1001 => --in-flight takes a number from 1 to 1000, not '1001'
        receive --rules r --stdin --drain soon => --drain takes a number and ms, s, m, h or d, such as 10s; not 'soon'
        receive --rules r --stdin --silent-after =10m => \
        --silent-after takes a time of 1s or more, such as 10m, or one of a route, such as news=1h; not '=10m'
        receive --rules r --mqtt mqtt://h/t --mqtt-version 4 => --mqtt-version takes one of 3.1, 3.1.1, 5, not '4'
        receive --rules r --mqtt mqtt://h/t --ca-file c => \
        a CA file is of no use without TLS; write mqtts, or a portSSL
        receive --rules r --mqtt mqtt://h/t --password-file p => a password needs a user
        receive --rules r --mqtt mqtt://h => expected a topic: name one, as in mqtt://host/topic
        receive --rules r --mqtt mqtt://h --mqtt-topic a# => \
        --mqtt-topic 'a#': expected '#' only as the last level, alone
        receive --rules r --mqtt mqtt://h --mqtt-topic 2:cmd/# => \
        --mqtt-topic takes FILTER, 0:FILTER or 1:FILTER, not '2:cmd/#'; for a topic that begins with '2:', write '1:' \
        before it
        receive --rules r --mqtt mqtt://h/a --mqtt-birth x => \
        --mqtt-birth takes TOPIC=TEXT, such as status=on, not 'x'
        receive --rules r --mqtt mqtt://h/a --mqtt-will x => --mqtt-will takes TOPIC=TEXT, such as status=on, not 'x'
        receive --rules r --mqtt mqtt://h --mqtt-topic $share/g/a => \
        --mqtt-topic '$share/g/a': a shared subscription gives each message to one of several clients, in no order; \
        expected a filter of this device's own
        receive --rules r --mqtt mqtt://h --mqtt-topic a --mqtt-will a/+=x => \
        the will's topic: expected a topic without the wildcards '#' and '+'
        receive --rules r --mqtt http://h/t => \
        --mqtt:1:1: expected an address of the form mqtt[s]://[user@]host[:port][/topic]
        receive --rules r --mqtt mqtt://h/ => --mqtt:1:10: expected the topic behind '/'
        receive --rules r --mqtt mqtt://u:secret@h/t => \
        --mqtt:1:9: a password is not accepted here, where other users could see it; name a file that contains it
        receive --rules - --stdin => --rules needs a file to watch for changes, not standard input
        status now => unexpected argument 'now'; pass the directory with --state
        tap --kind app => --kind takes one of pushToApp, pushToUser, directPush, not 'app'
        tap --count 0 => --count takes a number from 1 on, not '0'
        top --interval 0 => --interval takes a time from 100ms to 1h, not '0'
        top --sort size => --sort takes one of busy, rate, failed, wait, name, not 'size'
        dead-letters --state=x list => --state goes after the command, as in 'kiipush dead-letters list --state'
        dead-letters lsit --state /nowhere => unknown command 'lsit'; did you mean 'list'?
        dead-letters drop --state /nowhere => say which: numbers, --route, --reason, --transport, or --all
        dead-letters replay --dry-run --state /nowhere => say which: numbers, --route, --reason, --transport, or --all
        dead-letters show --state /nowhere => say which: numbers, --route, --reason, or --transport
        dead-letters drop x --state /nowhere => 'x' is not the number of a dead letter; 'list' shows them
        dead-letters drop 1 --format json --state /nowhere => unknown option --format
        dead-letters replay 1 --rate 0 --state /nowhere => --rate takes a number from 1 to 10000, not '0'
        dead-letters list --reason tired --state /nowhere => \
        --reason takes one of killSwitch, backlogFull, failed, quarantined, undecodable, not 'tired'
        dead-letters list --all --state /nowhere => unknown option --all
        kill => name a target: a route's id, a bucket's kiicloud:// URI, or '*' for everything
        kill '' => name a target: a route's id, a bucket's kiicloud:// URI, or '*' for everything
        kill a.txt b.txt => one target at a time, not 2; quote the star: '*'
        kill kiicloud://topics/t => \
        'kiicloud://topics/t' is not a target; only bucket URIs are, such as kiicloud://users/U/buckets/b
        kill http://x => 'http://x' is not a target; only bucket URIs are, such as kiicloud://users/U/buckets/b
        kill ring* => 'ring*' is not a target; patterns are not supported: use a route's id, or '*' for everything
        kill --reset a => \
        --reset puts a broken file out of the way, and takes neither a target nor any option except --state
        kill --reset --list => \
        --reset puts a broken file out of the way, and takes neither a target nor any option except --state
        kill a --for => --for needs a value
        kill a --for 0s => --for takes a number above 0 and ms, s, m, h or d, such as 90m, up to 36500d; not '0s'
        kill --list a => --list shows what is off, and takes neither a target nor any option except --state
        kill --list --for 1h => --list shows what is off, and takes neither a target nor any option except --state
        kill a --state '' => --state needs a directory's name
        revive => name a target: a route's id, a bucket's kiicloud:// URI, or '*' for everything
        revive ring* => 'ring*' is not a target; patterns are not supported: use a route's id, or '*' for everything
        revive a --for 1h => unknown option --for
        revive a\u{1B}[2J b => one target at a time, not 2; quote the star: '*'
        report -o /nowhere/p --watch a.jsonl => unexpected argument 'a.jsonl'; --watch reads no capture
        report -o /nowhere/p --watch --rules r => \
        --watch reports the agent's own rules: leave out --rules, --params, --param and --app
        report -o /nowhere/p --watch --params p => \
        --watch reports the agent's own rules: leave out --rules, --params, --param and --app
        report -o /nowhere/p --params p a.jsonl => --params and --param need --rules
        report -o /nowhere/p --param x=1 a.jsonl => --params and --param need --rules
        report -o /nowhere/p --for 1s a.jsonl => --for needs --watch
        send --dry-run => --topic is missing: name the topic by its URI
        send --dry-run --topic kiicloud://topics/t => --as is missing: say who sends, such as user:ID
        send --dry-run --topic kiicloud://topics/t --as user:U => --message is missing: name a file, or -
        send --dry-run --topic kiicloud://users/U --as user:U --message - => \
        --topic takes the URI of a topic, such as kiicloud://users/ID/topics/T, not 'kiicloud://users/U'
        send --dry-run --topic t --as user:U --message - => \
        --topic takes the URI of a topic, such as kiicloud://users/ID/topics/T, not 't'
        send --dry-run --topic kiicloud://topics/t --as U --message - => \
        --as takes user:ID, thing:ID or developer, not 'U'
        send --dry-run --topic kiicloud://topics/t --as user: --message - => \
        --as takes user:ID, thing:ID or developer, not 'user:'
        send --dry-run --topic kiicloud://a/topics/t --app b --as developer --message - => \
        --app and --topic name different apps
        send --at soon => --at takes milliseconds since 1970, not 'soon'
        send x => unexpected argument 'x'
        refresh => name the URI of an object, a user, a group or a thing, such as kiicloud://users/ID
        refresh kiicloud://buckets/b => \
        name the URI of an object, a user, a group or a thing, such as kiicloud://users/ID
        refresh x => \
        'x' is not a kiicloud:// URI; name the URI of an object, a user, a group or a thing, such as \
        kiicloud://users/ID
        refresh kiicloud://users/u => --account is missing: name the file with the app's key and your token
        refresh kiicloud://users/u kiicloud://users/v => it takes one URI, not 2
        unsubscribe kiicloud://users/u --account a => name the URI of a bucket or a topic, such as kiicloud://buckets/B
        unsubscribe kiicloud://buckets/b --account a => say whose pushes end, by --of or by --list
        unsubscribe kiicloud://buckets/b --account a --of user:u --list l => say whose pushes end, by --of or by --list
        unsubscribe kiicloud://buckets/b --account a --of u => --of takes user:ID or thing:ID, not 'u'
        unsubscribe kiicloud://buckets/b --account - --list - => standard input can be only one of the files
        install => --account is missing: name the file with the app's key and your token
        install --account a => --endpoint is missing: name the file that the endpoint goes to
        install --account a --endpoint e --installation i --development => \
        --installation installs nothing; leave out --thing and --development
        completions => name a shell: bash, zsh, fish
        completions tcsh => it takes one of bash, zsh, fish, not 'tcsh'
        """

    @Test(
        "ends with 64, and is told in one line that says what to do and where to look",
        arguments: table.split(separator: "\n").map { String($0) })
    func mistake(row: String) async {
        let parts = row.split(separator: " => ").map { String($0) }
        let words = parts[0].split(separator: " ").map { $0 == "''" ? "" : String($0) }
        // It is told of the longest command that the line begins with: a command stands before its subcommands.
        let command = Tool.command.all.map(\.name).last { name in
            words.starts(with: name.split(separator: " ").map { String($0) })
        }
        let run = await ToolRun(words)
        #expect(run.code == .usage && run.output.isEmpty)
        #expect(run.errors == [ToolRun.mistake(command ?? "", parts[1])])
    }

    @Test("an argument that is not UTF-8 is refused: read otherwise, it would name another file")
    func notUTF8() throws {
        let script = #"exec "$0" inspect "$(printf '\377')" 2>/dev/null"#
        #expect(try ChildProcess.run("/bin/sh", ["-c", script, try toolPath()], limit: .seconds(20)) == .exited(64))
    }

    @Test("a command without its subcommand shows its help", arguments: ["", "rules", "dead-letters"])
    func noSubcommand(name: String) async throws {
        let command = try #require(Tool.command.all.first { $0.name == name })
        let run = await ToolRun(name.isEmpty ? [] : [name])
        #expect(run.code == .usage && run.output.isEmpty && run.errors == [command.help])
    }

    @Test("an output that would replace a file of another kind, by whatever name, is refused, and the file stays")
    func outputs() async throws {
        let file = try TemporaryFile("{}", name: "file.json")
        let link = file.path + ".link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file.path)
        let lines = [
            (["report", file.path, "-o", link], "page of 'kiipush report'"),
            (["rules", "test", file.path, "--junit", link], "file of test results"),
            (["install", "--account", file.path, "--endpoint", link], "file of 'kiipush install'"),
            (["receive", "--stdin", "--rules", file.path, "--metrics", link], "metrics file"),
            (["receive", "--rules", "r", "--endpoint", file.path, "--capture", link], "capture"),
        ]
        for (line, kind) in lines {
            let run = await ToolRun(line)
            #expect(run.code == .usage && run.errors.count == 1, "\(run.errors)")
            #expect(run.errors.first?.contains(" would replace '\(link)', which is no \(kind); ") == true)
        }
        #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "{}")
    }

    @Test("an output that is the file of a standard stream is refused, since both would write over each other")
    func streamAsOutput() throws {
        let file = try TemporaryFile("before\n", name: "page.html")
        for stream in ["/dev/stdout", "/dev/fd/1"] {
            let script = "exec \"$0\" report \"$1\" -o \(stream) >> \"$1\" 2>/dev/null"
            let tool = ["-c", script, try toolPath(), file.path]
            #expect(try ChildProcess.run("/bin/sh", tool, limit: .seconds(20)) == .exited(64))
        }
        #expect(try file.contents() == "before\n")
    }
}
