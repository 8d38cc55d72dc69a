import KiiPush

@testable import KiiPushRules
@testable import KiiPushTestSupport

/// Rules files for the lint, each line of which is one rule.
enum LintSamples {
    /// A file whose third line is the first rule; settings go before, tests behind.
    static func file(_ rules: [String], settings: String = "", tests: String = "[]") -> String {
        "{\"version\": 1,\(settings)\n\"rules\": [\n\(rules.joined(separator: ",\n"))\n],\n\"tests\": \(tests)}"
    }

    /// A rule that calls the handler `h`.
    static func rule(_ id: String, _ when: String, _ rest: String = "") -> String {
        #"{"id":"\#(id)","when":\#(when),"then":{"handler":"h"}\#(rest.isEmpty ? "" : "," + rest)}"#
    }

    /// A rule with the conditions of a route, which calls the handler `h`.
    static func rule(_ route: Route) -> String {
        var writer = JSONWriter()
        route.criteria.write(to: &writer)
        return rule(route.id, writer.text, route.options.flow == .continue ? #""continue":true"# : "")
    }

    /// What is found, each as `line:column code`.
    static func findings(_ text: String, handlers: [String]? = nil) throws -> [String] {
        try RoutingRules(text, file: "r.json").lint(handlers: handlers).map { "\($0.position) \($0.code.rawValue)" }
    }
}
