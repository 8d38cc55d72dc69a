/// Writes JSON text, on one line; for the tool's reports and for fixtures.
package struct JSONWriter {
    /// The text so far.
    package private(set) var text = ""
    private var needsComma = false

    package init() {}

    /// The text of an object; `body` writes its members.
    package static func object(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        writer.object(body)
        return writer.text
    }

    /// Writes an object; `body` writes its members.
    package mutating func object(_ body: (inout JSONWriter) -> Void) { nest("{", "}", body) }

    /// Writes an array; `body` writes its elements.
    package mutating func array(_ body: (inout JSONWriter) -> Void) { nest("[", "]", body) }

    private mutating func nest(_ open: String, _ close: String, _ body: (inout JSONWriter) -> Void) {
        separate()
        text += open
        needsComma = false
        body(&self)
        text += close
        needsComma = true
    }

    /// Writes a key; write its value next.
    package mutating func key(_ key: String) {
        separate()
        text.append(quoted: key)
        text += ":"
        needsComma = false
    }

    /// Writes a string, or null.
    package mutating func string(_ string: String?) {
        guard let string else { return null() }
        separate()
        text.append(quoted: string)
        needsComma = true
    }

    /// Writes a number, or null.
    package mutating func integer(_ number: Int64?) { token(number.map { String($0) } ?? "null") }

    /// Writes a number with a fraction, or null; null also for a number that is not finite.
    package mutating func number(_ number: Double?) { token(number.flatMap { $0.isFinite ? "\($0)" : nil } ?? "null") }

    /// Writes true, false or null.
    package mutating func bool(_ bool: Bool?) { token(bool.map { $0 ? "true" : "false" } ?? "null") }

    /// Writes null.
    package mutating func null() { token("null") }

    /// Writes a value of a sender's data as sent: numbers keep their text.
    package mutating func value(_ value: DataValue) {
        switch value {
        case .string(let text): string(text)
        case .number(let text): token(text)
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

    /// Writes a member whose value is one of a sender's data.
    package mutating func member(_ key: String, value: DataValue) {
        self.key(key)
        self.value(value)
    }

    /// Writes a member whose value is a string, or null.
    package mutating func member(_ key: String, _ value: String?) {
        self.key(key)
        string(value)
    }

    /// Writes a member whose value is a whole number, or null.
    package mutating func member(_ key: String, _ value: Int64?) {
        self.key(key)
        integer(value)
    }

    /// Writes a member whose value is a whole number.
    package mutating func member(_ key: String, _ value: Int) { member(key, Int64(value)) }

    /// Writes a member whose value is a number with a fraction, or null.
    package mutating func member(_ key: String, _ value: Double?) {
        self.key(key)
        number(value)
    }

    /// Writes a member whose value is true, false or null.
    package mutating func member(_ key: String, _ value: Bool?) {
        self.key(key)
        bool(value)
    }

    /// Writes a member whose value is an object; `body` writes its members.
    package mutating func member(_ key: String, _ body: (inout JSONWriter) -> Void) {
        self.key(key)
        object(body)
    }

    /// Writes a member whose value is an array of strings.
    package mutating func member(_ key: String, _ texts: [String]) { list(key, texts) { $0.string($1) } }

    /// Writes a member whose value is an array; `body` writes each element.
    package mutating func list<Element>(
        _ key: String, _ elements: [Element], _ body: (inout JSONWriter, Element) -> Void
    ) {
        self.key(key)
        array { writer in for element in elements { body(&writer, element) } }
    }

    /// Writes a member whose value is an array of objects; `body` writes the members of each.
    package mutating func objects<Element>(
        _ key: String, _ elements: [Element], _ body: (inout JSONWriter, Element) -> Void
    ) {
        list(key, elements) { writer, element in writer.object { body(&$0, element) } }
    }

    private mutating func token(_ token: String) {
        separate()
        text += token
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { text += "," }
        needsComma = false
    }
}
