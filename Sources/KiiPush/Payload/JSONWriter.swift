/// Writes JSON text, on one line, with nil as null; for the tool's reports and for fixtures.
package struct JSONWriter {
    package private(set) var text = ""
    private var needsComma = false

    package init() {}

    package static func object(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        writer.object(body)
        return writer.text
    }

    // MARK: Values

    package mutating func object(_ body: (inout JSONWriter) -> Void) { nest("{", "}", body) }
    package mutating func array(_ body: (inout JSONWriter) -> Void) { nest("[", "]", body) }

    private mutating func nest(_ open: String, _ close: String, _ body: (inout JSONWriter) -> Void) {
        separate()
        text += open
        needsComma = false
        body(&self)
        text += close
        needsComma = true
    }

    package mutating func string(_ string: String?) {
        guard let string else { return null() }
        separate()
        text.append(quoted: string)
        needsComma = true
    }

    package mutating func integer(_ number: Int64?) { json(number.map { String($0) } ?? "null") }
    package mutating func bool(_ bool: Bool?) { json(bool.map { $0 ? "true" : "false" } ?? "null") }
    package mutating func null() { json("null") }

    /// Writes a value of a sender's data as sent: numbers keep their text.
    package mutating func value(_ value: DataValue) {
        switch value {
        case .string(let text): string(text)
        case .number(let text): json(text)
        case .bool(let value): bool(value)
        case .null: null()
        case .array(let elements):
            array { writer in
                for element in elements { writer.value(element) }
            }
        case .object(let members):
            object { writer in
                for (key, value) in members { writer.member(key, value: value) }
            }
        }
    }

    /// Writes a value that is JSON already.
    package mutating func json(_ value: String) {
        separate()
        text += value
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { text += "," }
        needsComma = false
    }

    // MARK: Members

    /// Writes a key; write its value next.
    package mutating func key(_ key: String) {
        separate()
        text.append(quoted: key)
        text += ":"
        needsComma = false
    }

    package mutating func member(_ key: String, value: DataValue) {
        self.key(key)
        self.value(value)
    }

    package mutating func member(_ key: String, _ value: String?) {
        self.key(key)
        string(value)
    }

    package mutating func member(_ key: String, _ value: Int64?) {
        self.key(key)
        integer(value)
    }

    package mutating func member(_ key: String, _ value: Int) { member(key, Int64(value)) }

    /// Writes a number with a fraction; null for one that is not finite.
    package mutating func member(_ key: String, _ value: Double?) {
        self.key(key)
        json(value.flatMap { $0.isFinite ? "\($0)" : nil } ?? "null")
    }

    package mutating func member(_ key: String, _ value: Bool?) {
        self.key(key)
        bool(value)
    }

    package mutating func member(_ key: String, _ body: (inout JSONWriter) -> Void) {
        self.key(key)
        object(body)
    }

    package mutating func member(_ key: String, _ texts: [String]) { list(key, texts) { $0.string($1) } }

    package mutating func list<Element>(
        _ key: String, _ elements: [Element], _ body: (inout JSONWriter, Element) -> Void
    ) {
        self.key(key)
        array { writer in for element in elements { body(&writer, element) } }
    }

    package mutating func objects<Element>(
        _ key: String, _ elements: [Element], _ body: (inout JSONWriter, Element) -> Void
    ) {
        list(key, elements) { writer, element in writer.object { body(&$0, element) } }
    }
}
