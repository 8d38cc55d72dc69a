public import KiiPush

/// Performs the actions of rules without a handler: running programs, printing, and calling Kii's cloud.
///
/// The core performs none of them, since they reach outside the process. A program that loads rules with `run`,
/// `print`, `write` or `send` provides one.
public protocol RuleActions: Sendable {
    /// Performs `write` and `send`; nil refuses rules that use them.
    var cloud: (any RuleCloud)? { get }

    /// Runs a program for a message and returns when it has ended.
    ///
    /// - Parameters:
    ///   - arguments: the program and its arguments, at least one; no shell is involved.
    ///   - message: the message.
    ///   - context: the handler's context.
    /// - Throws: if the program did not succeed; the message then failed.
    func run(_ arguments: [String], for message: PushMessage, _ context: HandlerContext) async throws

    /// Prints a message.
    ///
    /// - Throws: if it could not be written; the message then failed.
    func print(_ message: PushMessage, _ context: HandlerContext) async throws
}

extension RuleActions {
    /// None: rules with `write` or `send` are refused.
    public var cloud: (any RuleCloud)? { nil }
}

struct RuleCompiler {
    let file: String
    let handlers: [ExactText: RouteHandler.Taking<PushMessage>]
    let actions: (any RuleActions)?
    /// The maximum age of messages for a rule without delivery settings of its own.
    let maxAge: Duration?
    let secrets: RuleSecrets

    /// A route for each rule, in order; `taken` knows the ids of the routes that code declares.
    ///
    /// - Throws: `RulesError` if an id is taken, a handler is not registered, or the actions that a rule needs are
    /// missing.
    func routes(_ rules: [RoutingRule], taken: (String) -> Bool) throws(RulesError) -> [Route] {
        var problems = RulesError.Collected()
        var routes: [Route] = []
        routes.reserveCapacity(rules.count)
        func report(_ position: SourcePosition, _ what: @autoclosure () -> String) {
            problems.add(RulesError.Problem(file: file, position: position, what: what()))
        }
        for parameter in secrets.missing {
            report(parameter.position, "the secret parameter '\(parameter.name)' has no value; give it one")
        }
        for rule in rules {
            if taken(rule.id) {
                report(rule.position, "the code also declares a route '\(Suggestion.shown(rule.id))'; rename one")
            }
            guard let handler = handler(rule, report: { report(rule.actionPosition, $0) }) else { continue }
            routes.append(
                Route(
                    id: rule.id, criteria: rule.criteria, options: rule.options, standardMaxAge: maxAge,
                    handler: handler, handlerName: rule.handlerName))
        }
        if let error = problems.error { throw error }
        return routes
    }

    private func handler(_ rule: RoutingRule, report: (String) -> Void) -> RouteHandler? {
        switch rule.action {
        case .handler(let name):
            if let handler = handlers[ExactText(name)] { return .any(handler) }
            guard !handlers.isEmpty else {
                report(
                    "no handler '\(Suggestion.shown(name))' is registered, nor any other: register it in the program, or "
                        + "let the rule run, print, write or send")
                return nil
            }
            report(Suggestion.unknown("handler", name, known: handlers.keys.map(\.text).sorted()))
        case .run(let arguments):
            if let actions {
                let arguments = secrets.filled(arguments)
                return .any { try await actions.run(arguments, for: $0, $1) }
            }
            report("this program cannot run programs; load the rules with actions that do")
        case .print:
            if let actions { return .any { try await actions.print($0, $1) } }
            report("this program cannot print messages; load the rules with actions that do")
        case .write(let write):
            if let cloud = actions?.cloud {
                return .any { [secrets] in try await cloud.perform(try write.filled($0, secrets), $1) }
            }
            report("this program cannot write to Kii's cloud; load the rules with actions that have a 'cloud'")
        case .send(let push):
            if let cloud = actions?.cloud {
                return .any { [secrets] in try await cloud.perform(try push.filled($0, secrets), $1) }
            }
            report("this program cannot send pushes; load the rules with actions that have a 'cloud'")
        }
        return nil
    }
}
