import KiiPush

/// The values that a device gives to the parameters of its rules.
///
/// ```swift
/// let rules = try RoutingRules(text, params: ["thing": "th.7", "limit": "21"])
/// ```
///
/// A value is read by the type that the rules file declares, and refused with its place if it has another. Values for
/// names that the file does not declare are kept, so that a device can have them before the rules that need them; lint
/// reports them. It prints without the values, since some may be secret.
public struct ParameterValues: Sendable, Hashable {
    /// The largest file of values, in bytes.
    package static let mostBytes = 1 << 20

    enum Form: Hashable {
        /// Read by the type of its parameter.
        case text(String)
        case value(DataValue)
    }

    struct Given: Hashable {
        let form: Form
        let file: String
        let position: SourcePosition
    }

    private(set) var given: [ExactText: Given] = [:]

    /// No values.
    public init() {}

    /// Reads a file of values: one JSON object, such as `{"thing": "th.7", "limit": 21}`.
    ///
    /// - Parameters:
    ///   - bytes: the file's content, at most 1 MiB.
    ///   - file: the name of the file in errors.
    /// - Throws: ``RulesError`` with every problem.
    public init(_ bytes: some Sequence<UInt8>, file: String = "params.json") throws(RulesError) {
        let source = RulesSource(Array(bytes), file: file)
        var reader = RulesReader(source)
        self = reader.values(try source.root(mostBytes: Self.mostBytes), "an object with the values of parameters")
        if let error = reader.error { throw error }
    }

    /// Sets a value; the text is read by the type that the rules file declares.
    ///
    /// - Parameters:
    ///   - name: the parameter.
    ///   - text: its value, such as `th.7`, `21` or `true`.
    ///   - place: where the value comes from, for errors, such as an option of a command line.
    public mutating func set(_ name: String, to text: String, place: String = "params") {
        given[ExactText(name)] = Given(form: .text(text), file: place, position: .start)
    }

    mutating func set(_ name: String, _ value: Given) { given[ExactText(name)] = value }

    subscript(name: String) -> Given? { given[ExactText(name)] }

    /// The names, sorted.
    public var names: [String] { given.keys.map(\.text).sorted() }

    /// The values without their places.
    var forms: [ExactText: Form] { given.mapValues(\.form) }

    /// The values of a row of a test: its own, else defaults, else those of the device.
    ///
    /// So a test has the same result on each device, as far as parameters have defaults or the test states values.
    func ofTest(_ row: ParameterValues, _ parameters: [RuleParameter]) -> ParameterValues {
        var values = row
        for parameter in parameters where row[parameter.name] == nil && parameter.defaultValue == nil {
            if let value = self[parameter.name] { values.set(parameter.name, value) }
        }
        return values
    }
}

extension ParameterValues: ExpressibleByDictionaryLiteral, CustomStringConvertible, CustomReflectable {
    /// Makes values from texts, each read by the type that the rules file declares.
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, text) in elements { set(name, to: text) }
    }

    /// The names.
    public var description: String { names.description }
    /// Nothing, since some values may be secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension RulesReader {
    mutating func values(_ node: PlacedValue, _ what: String) -> ParameterValues {
        var values = ParameterValues()
        for member in object(node, what)?.members ?? [] {
            switch member.value.token.kind {
            case .string, .number, .true, .false:
                let value = member.value.value
                let place = position(member.value.offset)
                values.set(member.key, ParameterValues.Given(form: .value(value), file: source.file, position: place))
            case .object, .array, .null, .absent: report(member.value, expected: "a string, a number, true or false")
            }
        }
        return values
    }
}
