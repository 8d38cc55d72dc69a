import Glibc
import KiiPushAgent
import Testing

@testable import kiipush
@testable import KiiPushTestSupport

@Suite("colours, on terminals only")
struct InkTests {
    @Test(
        "an output has colours when it is a terminal that knows them, and nobody refuses them",
        arguments: [
            (true, ["TERM": "xterm"], true), (true, ["TERM": "xterm", "NO_COLOR": ""], true),
            (true, ["TERM": "xterm", "NO_COLOR": "1"], false), (true, ["TERM": "dumb"], false), (true, [:], false),
            (true, ["TERM": ""], false), (false, ["TERM": "xterm"], false),
        ] as [(Bool, [String: String], Bool)])
    func decision(isTerminal: Bool, environment: [String: String], isOn: Bool) {
        let ink = Ink(isTerminal: isTerminal) { environment[$0] }
        #expect(ink.isOn == isOn)
        #expect(ink("a", .bad) == (isOn ? "\u{1B}[1;31ma\u{1B}[0m" : "a"))
        #expect(ink("a", nil) == "a" && ink("", .bad) == "")
        #expect(ink.located("f:1:2: what: x") == (isOn ? "\u{1B}[1mf:1:2\u{1B}[0m: what: x" : "f:1:2: what: x"))
    }

    static let rules = """
        {"version":1,"rules":[{"id":"a","when":{"bucket":"settings"},"then":{"print":true}},
          {"id":"b","when":{"topic":"t"},"then":{"print":true}}],
         "tests":[{"name":"t","steps":[{"payload":{"topic":"t"},"expect":{"rules":["a"]}}]}]}
        """

    @Test(
        "on a terminal verdicts and errors stand out, and without their colours the words are those of a pipe",
        arguments: [
            (["inspect", "PAYLOAD"], "\u{1B}[1mPush to App\u{1B}[0m, \u{1B}[32mcertain\u{1B}[0m: "),
            (["inspect", "--strict", "AMBIGUOUS"], "\u{1B}[33mambiguous\u{1B}[0m"),
            (["inspect", "RULES.none", "BROKEN"], "\u{1B}[1;31munexpectedCharacter\u{1B}[0m: "),
            (["rules", "explain", "RULES", "PAYLOAD"], "\u{1B}[32mTAKES IT: the message is printed"),
            (["rules", "explain", "RULES", "AMBIGUOUS"], "\u{1B}[1;31mmiss\u{1B}[0m"),
            (["rules", "test", "RULES"], "\u{1B}[1;31m1 failed\u{1B}[0m"),
        ])
    func terminal(arguments: [String], coloured: String) throws {
        let files = [
            "PAYLOAD": try TemporaryFile(#"{"bucketID":"settings","objectScopeType":"APP"}"#),
            "AMBIGUOUS": try TemporaryFile(#"{"bucketID":"b","topic":"t","objectScopeType":"APP"}"#),
            "BROKEN": try TemporaryFile("{x"), "RULES": try TemporaryFile(Self.rules, name: "rules.json"),
        ]
        let words = arguments.map { files[$0]?.path ?? $0 }
        let shown = try Self.onTerminal(words, ["TERM=xterm", "NO_COLOR="])
        #expect(shown.contains(coloured), "\(shown.debugDescription)")
        let run = try ChildRun(words)
        #expect(!run.output.contains("\u{1B}") && !run.errors.contains("\u{1B}"))
        let bare = try Self.onTerminal(words, ["TERM=xterm", "NO_COLOR=1"])
        #expect(Self.withoutColours(shown) == bare)
        #expect(try Self.onTerminal(words, ["TERM=dumb", "NO_COLOR="]) == bare)
        #expect(bare.split(separator: "\n").sorted() == (run.output + run.errors).split(separator: "\n").sorted())
    }

    @Test("'top' draws no screen on a terminal without a cursor")
    func dumbTerminal() throws {
        let shown = try Self.onTerminal(["top", "--state", "/nowhere"], ["TERM=dumb"])
        #expect(shown.contains("no agent runs on /nowhere") && !shown.contains("\u{1B}"))
    }

    @Test("of a status the health, the problems and what is short stand out")
    func status() {
        let ink = Ink(isTerminal: true) { $0 == "TERM" ? "xterm" : nil }
        #expect(
            ink.status("agent 7, kiipush 0.1.0: healthy; up 3s")
                == "agent 7, kiipush 0.1.0: \u{1B}[32mhealthy\u{1B}[0m; up 3s")
        #expect(ink.status("agent 7, kiipush 0.1.0: NOT HEALTHY").hasPrefix("\u{1B}[1;31m"))
        #expect(ink.status("problem     x").hasPrefix("\u{1B}[1;31m"))
        #expect(ink.status("shortage    disk: x").hasPrefix("\u{1B}[33m"))
        #expect(ink.status("silent-shop-route   1  2") == "silent-shop-route   1  2")
        #expect(Ink.none.status("problem     x") == "problem     x")
    }

    /// What the tool writes to a terminal, with its line ends as they are in a file.
    private static func onTerminal(_ arguments: [String], _ variables: [String]) throws -> String {
        let terminal = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(terminal) }
        // The numbers of TIOCSPTLCK and TIOCGPTN: unlock it, and say how its other end is called.
        var (unlocked, number): (Int32, UInt32) = (0, 0)
        #expect(unsafe ioctl(terminal, 0x4004_5431, &unlocked) == 0 && ioctl(terminal, 0x8004_5430, &number) == 0)
        let path = "/dev/pts/\(number)"
        // Held open, so that what is written is there still when the tool has ended.
        let held = unsafe open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(held) }
        let process = try spawn([try toolPath()] + arguments, output: path, variables: variables)
        var (text, status): ([UInt8], Int32) = ([], 0)
        var hasEnded = false
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            var polled = [pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)]
            let isReady = unsafe poll(&polled, 1, hasEnded ? 0 : 10) > 0
            if isReady {
                let count = unsafe read(terminal, &buffer, buffer.count)
                if count > 0 { text += buffer.prefix(count) }
            } else if hasEnded {
                break
            } else {
                hasEnded = unsafe waitpid(process, &status, WNOHANG) == process
            }
        }
        return String(decoding: text.filter { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
    }

    private static func withoutColours(_ text: String) -> String {
        var (bare, isCode) = ("", false)
        for character in text.unicodeScalars {
            if character == "\u{1B}" { isCode = true }
            if !isCode { bare.unicodeScalars.append(character) }
            if character == "m" { isCode = false }
        }
        return bare
    }
}
