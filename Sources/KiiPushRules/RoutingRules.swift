public import KiiPush

/// A parsed and checked rules file: routes as data, settings of the chain, and tests.
///
/// ```swift
/// let rules = try RoutingRules(text, file: "rules.json")
/// let receiver = PushReceiver(rules: rules)
/// receiver.register("reload") { message, context in print(message.kind) }
/// try receiver.load(rules)
/// ```
///
/// Limits: 16 MiB, 64 levels, 1,000,000 object members in the whole file, which suffices for a hundred thousand rules
/// with a test each. Each property documents its default.
public struct RoutingRules: Sendable {
    /// The largest file, in bytes.
    package static let mostBytes = 16 << 20

    /// The format as a JSON Schema, draft 2020-12, for editors and for programs that write rules.
    public static var schema: String { String(decoding: PackageResources.rules_schema_json, as: UTF8.self) }

    static let limits = PayloadLimits(bytes: mostBytes, depth: 64, members: 1_000_000)

    /// The file name that the caller gave; errors begin with it.
    public let file: String
    /// The version of the format: 1.
    public let version: Int
    /// The app to serve; nil if the file names none.
    public private(set) var app: String?
    /// Identities that only this device writes as; empty if the file names none.
    public private(set) var me: [Sender] = []
    /// The scopes to serve; nil serves all.
    public private(set) var serving: ScopePattern?
    /// How many messages are remembered, and for how long.
    public private(set) var dedupe = SeenWindow.standard
    /// The settings of the loop guard.
    public private(set) var loop = LoopSettings.standard
    /// Whether the key `loop` of the file sets a number.
    private(set) var statesLoop = false
    /// Identities that this device and others write as, from `loop`; empty if the file names none.
    public private(set) var writesAs: [Sender] = []
    /// Where each element of the lists `me`, `serving` and `writesAs` begins.
    private(set) var positions: [String: [SourcePosition]] = [:]
    /// The delivery settings for messages whose rule has none of its own.
    ///
    /// A receiver does not deliver: pass it to `PushService`, and to `PushService.setDelivery(_:)` when the rules are
    /// loaded again. Its `DeliverySettings.maxAge` applies in a receiver of the rules too.
    public private(set) var delivery = DeliverySettings()
    /// Where ``delivery`` begins; nil if the file does not state it.
    private(set) var deliveryPosition: SourcePosition?
    package private(set) var rules: [RoutingRule] = []
    package private(set) var tests: [RuleTest] = []
    package private(set) var params: [RuleParameter] = []
    package let given: ParameterValues
    /// The values of parameters that are in use; nil for secrets.
    package private(set) var values: [ExactText: DataValue] = [:]
    private(set) var secrets = RuleSecrets.none
    /// The names of the parameters that no placeholder uses.
    private(set) var unusedParameters: [RuleParameter] = []
    /// The rules with the values that the tests run with.
    private(set) var variants: [RoutingRules] = []

    /// Parses the text of a rules file.
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - file: the name of the file in errors.
    ///   - params: the values of this device for the parameters that the file declares.
    /// - Throws: ``RulesError`` with every problem.
    public init(_ text: String, file: String = "rules.json", params: ParameterValues = [:]) throws(RulesError) {
        try self.init(Array(text.utf8), file: file, params: params)
    }

    /// Parses the bytes of a rules file.
    ///
    /// - Parameters:
    ///   - bytes: the file's content, UTF-8 without a byte order mark.
    ///   - file: the name of the file in errors.
    ///   - params: the values of this device for the parameters that the file declares.
    /// - Throws: ``RulesError`` with every problem; also if a parameter that is not secret has neither a value nor a
    ///   default, or a value has another type. A missing secret is a problem only when the rules are loaded.
    public init(
        _ bytes: some Sequence<UInt8>, file: String = "rules.json", params: ParameterValues = [:]
    ) throws(RulesError) {
        let source = RulesSource(Array(bytes), file: file)
        try self.init(source, params, readsTests: true)
        if !self.params.isEmpty { try makeVariants(source) }
    }

    private init(_ source: RulesSource, _ given: ParameterValues, readsTests: Bool) throws(RulesError) {
        var reader = RulesReader(source)
        let root = try source.root()
        file = source.file
        self.given = given
        // For an unknown version, this library cannot report other problems.
        guard let object = reader.object(root, "an object with the rules"), let version = reader.version(object) else {
            throw reader.failure
        }
        self.version = version
        reader.refuseKeys(of: object, otherThan: Self.keys)
        if let list = object["params"] {
            let earlier = reader.error
            params = reader.params(list, given)
            // Without its values, the rest of the file cannot be judged.
            if let error = reader.error, error != earlier { throw error }
        }
        readSettings(object, &reader)
        if let list = reader.required("rules", of: object) {
            rules = reader.rules(list, delivery: delivery, sender: me.first ?? writesAs.first)
        }
        if readsTests, let list = object["tests"] { tests = reader.tests(list, rules, params) }
        if let error = reader.error { throw error }
        secrets = reader.parameters.secrets
        unusedParameters = params.filter { !reader.parameters.used.contains(ExactText($0.name)) }
        values = reader.parameters.values
    }

    static let keys = [
        "version", "params", "app", "me", "serving", "dedupe", "loop", "delivery", "rules", "tests", "$schema",
    ]

    private mutating func readSettings(_ object: RulesObject, _ reader: inout RulesReader) {
        if let node = object["$schema"] { _ = reader.string(node, "where the schema is, for an editor") }
        if let node = object["app"] { app = reader.name(node, "the id of an app", fills: true) }
        if let node = object["me"] { (me, positions["me"]) = (reader.identities(node), reader.positions(node)) }
        if let node = object["serving"] {
            (serving, positions["serving"]) = (reader.serving(node), reader.positions(node))
        }
        if let node = object["dedupe"] { dedupe = reader.dedupe(node) }
        if let node = object["loop"] { (loop, writesAs, statesLoop, positions["writesAs"]) = reader.loop(node) }
        if let node = object["delivery"] {
            delivery = reader.delivery(node, from: delivery)
            deliveryPosition = reader.position(node.offset)
        }
    }

    /// The most different rows of values in all tests.
    static let mostRows = 100

    /// Reads the rules again for each row of values of the tests.
    private mutating func makeVariants(_ source: RulesSource) throws(RulesError) {
        var known: [[ExactText: ParameterValues.Form]: Int] = [:]
        for index in tests.indices {
            let rows = tests[index].params.isEmpty ? [[:]] : tests[index].params
            var numbers: [Int] = []
            for row in rows {
                let values = given.ofTest(row, params)
                if let number = known[values.forms] {
                    numbers.append(number)
                    continue
                }
                guard variants.count < Self.mostRows else {
                    throw RulesError(
                        file, tests[index].position,
                        "all tests have more than \(Self.mostRows) different rows of values")
                }
                known[values.forms] = variants.count
                numbers.append(variants.count)
                variants.append(try Self.variant(source, values, of: tests[index], row: numbers.count))
            }
            tests[index].variants = numbers
        }
    }

    private static func variant(
        _ source: RulesSource, _ values: ParameterValues, of test: RuleTest, row: Int
    ) throws(RulesError) -> RoutingRules {
        do throws(RulesError) { return try RoutingRules(source, values, readsTests: false) } catch {
            let which = test.params.isEmpty ? "" : ", row \(row)"
            throw RulesError(
                error.problems.map { problem in
                    RulesError.Problem(
                        file: problem.file, position: problem.position,
                        what: "\(problem.what) (with the values of the test '\(Suggestion.shown(test.name))'\(which))")
                }, omitted: error.omitted)
        }
    }
}

extension RoutingRules {
    /// The maximum age of a rule's messages: the rule's own, or else the file's; nil for any age.
    package func maxAge(of rule: RoutingRule) -> Duration? { (rule.options.delivery ?? delivery).maxAge }
}

extension RulesReader {
    /// The version, if it is supported; otherwise no other problem is reported.
    package mutating func version(_ object: RulesObject) -> Int? {
        guard let node = required("version", of: object) else { return nil }
        guard node.token.kind == .number else { return refuse(node, expected: "the version of the format, 1") }
        guard JSONNumber.integer(source.bytes.span, node.token.range) == 1 else {
            let found = text(node)
            return refuse(node.offset, "unknown version \(Suggestion.shown(found)); this library reads version 1")
        }
        return 1
    }
}
