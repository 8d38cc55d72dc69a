import Glibc
import KiiPushAgent
import Synchronization
import Testing

@testable import kiipush
@testable import KiiPushTestSupport

@Suite("completions in real shells")
struct CompletionsTests {
    /// What somebody has typed, the last word being the one to complete, and what is offered.
    static let cases: [(words: [String], offered: [String])] = [
        (["st"], ["status"]),
        (["rules", ""], ["test", "lint", "explain", "diff", "graph", "schema", "help"]),
        (["dead-letters", "re"], ["replay"]),
        (["help", "rules", "li"], ["lint"]),
        (["rules", "help", "gr"], ["graph"]),
        (["inspect", "--fo"], ["--format"]),
        (["inspect", "--format", ""], ["text", "json"]),
        (["inspect", "--lines", "--format", "j"], ["json"]),
        (["dead-letters", "list", "--reason", "k"], ["killSwitch"]),
        (["completions", "f"], ["fish"]),
        (["tap", "--kind", "pushTo"], ["pushToApp", "pushToUser"]),
    ]

    @Test("bash offers commands, options and values", arguments: cases.indices)
    func bash(number: Int) throws {
        let (words, offered) = Self.cases[number]
        #expect(try Self.bash(words).sorted() == offered.sorted())
    }

    @Test("bash offers each option of each command, and no other", arguments: Tool.command.all.map(\.name))
    func everyOption(name: String) throws {
        let command = try #require(Tool.command.all.first { $0.name == name })
        let words = name.split(separator: " ").map { String($0) }
        let names = command.allOptions.flatMap { [$0.name] + ($0.short.map { [$0] } ?? []) }
        #expect(try Self.bash(words + ["-"]).sorted() == names.sorted())
    }

    @Test("bash completes the value behind a sign of equality, files and directories")
    func pathsInBash() throws {
        let file = try TemporaryFile("{}", name: "a file.json")
        let folder = String(file.path.prefix(through: file.path.lastIndex(of: "/") ?? file.path.startIndex))
        #expect(try Self.bash(["inspect", "--format", "=", "te"]) == ["text"])
        #expect(try Self.bash(["inspect", "--format", "="]).sorted() == ["json", "text"])
        #expect(try Self.bash(["receive", "--rules", folder + "a"]) == [file.path])
        #expect(try Self.bash(["status", "--state", folder + "a"]).isEmpty, "a file is no directory")
        #expect(try Self.bash(["status", "--state", String(folder.dropLast(2))]) == [String(folder.dropLast())])
    }

    @Test("fish offers commands, options and values", arguments: cases.indices)
    func fish(number: Int) throws {
        guard let shell = Shell("fish") else { return }
        let (words, offered) = Self.cases[number]
        let script = try TemporaryFile(CompletionScripts.fish + "\n", name: "kiipush.fish")
        // The words as one command line; what is offered has its description behind a tabulator.
        let line = (["kiipush"] + words).joined(separator: " ")
        let run = try shell.run(["--no-config", "-c", "source \(script.path); complete -C '\(line)'"])
        let names = run.split(separator: "\n").compactMap { $0.split(separator: "\t").first.map { String($0) } }
        #expect(names.sorted() == offered.sorted(), "\(run)")
    }

    @Test("zsh offers commands, options and values", arguments: cases.indices)
    func zsh(number: Int) throws {
        guard let shell = Shell("zsh") else { return }
        let (words, offered) = Self.cases[number]
        let script = try TemporaryFile(CompletionScripts.zsh + "\n", name: "_kiipush")
        let driver = try TemporaryFile(Self.driver, name: "driver")
        guard let limit = Shell("timeout") else { return }
        let run = try limit.run(
            ["60", shell.path, "-f", driver.path, script.path, (["kiipush"] + words).joined(separator: " ")])
        var names = Set<String>()
        for part in run.split(separator: "<").dropFirst() {
            if let end = part.firstIndex(of: ">") { names.insert(String(part[..<end])) }
        }
        #expect(names.subtracting(["END"]).sorted() == offered.sorted(), "\(run)")
    }

    /// Its completion runs in its line editor only: in a terminal that nobody sees, where Tab is pressed and what would
    /// be offered is printed.
    private static let driver = #"""
        zmodload zsh/zpty
        zpty z zsh -f -i
        zpty -w z "PS1= ; PROMPT_EOL_MARK= ; autoload -Uz compinit; compinit -u -D; source $1"
        zpty -w z 'compadd() {
            if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return $?; fi
            local -a shown; builtin compadd -O shown "$@"; (( $#shown )) && print -l -- "<"${^shown}">"
            builtin compadd "$@"
        }'
        zpty -w z 'complete-it() { _main_complete; print "<<"END">>"; compstate[insert]= ; compstate[list]= }
            zle -C complete-it complete-word complete-it; bindkey "^I" complete-it; print READ""Y'
        zpty -r -m z out '*READY*'
        zpty -w -n z "$2"$'\t'
        zpty -r -m z out '*<<END>>*'
        print -r -- "$out"
        zpty -d z
        """#

    private static func bash(_ words: [String]) throws -> [String] {
        let shell = try #require(Shell("bash"))
        let script = try TemporaryFile(CompletionScripts.bash + "\n", name: "script")
        let line = """
            source \(script.path)
            COMP_WORDS=(kiipush "$@") COMP_CWORD=$#
            $(complete -p kiipush | sed 's/.*-F \\([^ ]*\\).*/\\1/')
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        return try shell.run(["--norc", "-c", line, "bash"] + words).split(separator: "\n").map { String($0) }
    }
}

struct Shell {
    /// Those of which it was said that they are missing.
    private static let missing = Mutex<Set<String>>([])

    let path: String

    /// Finds it; says so where it is not installed, and is nil.
    init?(_ name: String) {
        let paths = ["/bin/\(name)", "/usr/bin/\(name)", "/usr/local/bin/\(name)"]
        guard let path = paths.first(where: { unsafe access($0, X_OK) == 0 }) else {
            if Self.missing.withLock({ $0.insert(name).inserted }) {
                print("\(name) is not installed, so that part was not tried; apt-get install \(name)")
            }
            return nil
        }
        self.path = path
    }

    /// What it prints, of either kind, where it finds the tool that was built beside the tests.
    func run(_ arguments: [String]) throws -> String {
        let output = try TemporaryFile("", name: "output")
        let search = "PATH=\(try toolPath().dropLast("/kiipush".count)):/usr/local/bin:/usr/bin:/bin"
        let process = try spawn(["/usr/bin/env", search, path] + arguments, output: output.path)
        #expect(waitpid(process, nil, 0) == process)
        return try output.contents()
    }
}
