// Arguments of `run` that only a shell would understand, or that expect a placeholder to be filled in.

import KiiPush

extension RulesLint {
    mutating func checkRun(_ rule: RoutingRule) {
        guard case .run(let arguments) = rule.action, let program = arguments.first else { return }
        guard let fault = Self.faultOfProgram(program) ?? Self.faultOfArguments(arguments) else { return }
        report(.noShell, rule.actionPosition, rule.id, "the rule \(name(rule)) runs no shell: \(fault)")
    }

    private static let shells: Set<String> = ["sh", "bash", "dash", "ash", "ksh", "zsh", "fish", "busybox"]
    /// What a shell takes for a redirection, a pipe or the end of a command.
    private static let operators: Set<String> = ["|", "&", "&&", "||", ">", ">>", "<", "2>", "2>&1", "&>"]
    /// Programs to which an operator is an argument like others.
    private static let comparing: Set<String> = ["test", "[", "expr", "find"]
    private static let variables = ["HOME", "USER", "PATH", "PWD", "STATE_DIRECTORY", "KIIPUSH_STAMP"]

    /// Why the first element names no program; nil if it may.
    private static func faultOfProgram(_ program: String) -> String? {
        if program.begins(exactlyWith: "~") { return "nothing replaces '~'; write the program's whole path" }
        let hasSpecial = program.utf8.contains { "|&;<>$\"'`*\n".utf8.contains($0) }
        let last = program.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        // A folder's name may have a space in it.
        let hasSpace =
            last.utf8.contains(UInt8(ascii: " ")) || program.contains(exactly: " /") || program.contains(exactly: " -")
            || !program.begins(exactlyWith: "/") && program.utf8.contains(UInt8(ascii: " "))
        guard hasSpecial || hasSpace else { return nil }
        let words = hasSpecial ? ["sh", "-c", program] : program.split(separator: " ").map { String($0) }
        let action = JSONWriter.object { $0.member("run", words) }
        // A longer line would not help.
        let advice = action.utf8.count <= 200 ? "; write \(action)" : ""
        return "its first element is the name or path of a program, the others are its arguments\(advice)"
    }

    /// Why an argument does not do what it says; nil if it may.
    private static func faultOfArguments(_ arguments: [String]) -> String? {
        let program = arguments[0].split(separator: "/").last.map { String($0) } ?? ""
        let isShell = shells.contains(program)
        for argument in arguments.dropFirst() {
            if let field = messageField(in: argument, isShell: isShell) {
                return "nothing fills in '\(Suggestion.shown(field))'; the program reads the message as a line of JSON "
                    + "on its standard input"
            }
            guard !isShell else { continue }
            if argument.begins(exactlyWith: "~/") { return "nothing replaces '~'; write the whole path" }
            if operators.contains(argument), !comparing.contains(program) {
                return "'\(argument)' is an argument like others; write a script, or [\"sh\", \"-c\", …]"
            }
            if let name = variables.first(where: { argument.names($0) }) {
                return "nothing replaces '$\(name)'; write its value, or read it in the program"
            }
        }
        return nil
    }

    /// The first placeholder of a rule in an argument; to a shell, one without a dot is a variable like others.
    private static func messageField(in argument: String, isShell: Bool) -> String? {
        for piece in argument.split(separator: "$", omittingEmptySubsequences: false).dropFirst() {
            guard piece.first == "{", let end = piece.utf8.firstIndex(of: UInt8(ascii: "}")) else { continue }
            let text = String(piece[piece.index(after: piece.startIndex)..<end])
            let isVariable = isShell && !text.utf8.contains(UInt8(ascii: "."))
            if !isVariable, (try? RuleField(text)) != nil { return "${\(text)}" }
        }
        return nil
    }
}

extension String {
    /// Whether it contains the variable, as a shell writes it.
    fileprivate func names(_ variable: String) -> Bool {
        contains(exactly: "${\(variable)}") || isExactly("$\(variable)") || begins(exactlyWith: "$\(variable)/")
    }
}
