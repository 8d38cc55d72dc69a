/// A literal is the value itself: `["power": true, "levels": [1, 2.5]]`.
extension DataValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Makes a string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// Makes a whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }

    /// Makes a number with a fraction.
    public init(floatLiteral value: Double) { self = .double(value) }

    /// Makes a boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// Makes an array.
    public init(arrayLiteral elements: DataValue...) { self = .array(elements) }

    /// Makes an object, its members in order; each key once.
    public init(dictionaryLiteral members: (String, DataValue)...) {
        self = .object(members.map { (key: $0.0, value: $0.1) })
    }

    /// A whole number of any type.
    public static func integer(_ value: some BinaryInteger) -> DataValue { .number(String(value)) }

    /// A number with a fraction; a non-finite one is refused where it would be sent.
    public static func double(_ value: Double) -> DataValue { .number("\(value)") }
}
