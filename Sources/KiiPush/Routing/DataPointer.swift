/// A JSON Pointer (RFC 6901) into the sender's data, such as `/items/0/id`; the part `*` means each element of a list,
/// or each member of an object.
///
/// It also looks into a string that contains JSON, because FCM and Kii's flat data carry structured values so. Looking
/// up reads each level of the value once for each part, so the cost is at most 32 times the payload.
package struct DataPointer: Sendable, Hashable {
    package static let mostParts = 32

    /// The root key of the data, in which a star is literal.
    package let root: String
    private let parts: [String]

    package init(_ text: String) throws(DataPointerError) {
        guard text.utf8.first == UInt8(ascii: "/") else {
            throw DataPointerError(what: "a pointer begins with '/'")
        }
        var parts: [String] = []
        for part in text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard parts.count < Self.mostParts else {
                throw DataPointerError(what: "a pointer has at most \(Self.mostParts) parts")
            }
            parts.append(try Self.unescaped(part))
        }
        guard let root = parts.first, !root.isExactly("*") || parts.count == 1 else {
            throw DataPointerError(what: "the first part of a pointer is a root key; '*' may stand for a later one")
        }
        self.root = root
        self.parts = Array(parts.dropFirst())
    }

    private static func unescaped(_ part: Substring.UTF8View) throws(DataPointerError) -> String {
        let pieces = part.split(separator: UInt8(ascii: "~"), omittingEmptySubsequences: false)
        var bytes = Array(pieces[0])
        for piece in pieces.dropFirst() {
            guard let code = piece.first, let byte = [0x30: UInt8(ascii: "~"), 0x31: UInt8(ascii: "/")][code] else {
                throw DataPointerError(what: "write '~0' for '~' and '~1' for '/' in a pointer")
            }
            bytes.append(byte)
            bytes += piece.dropFirst()
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether it may lead to several values.
    package var isMany: Bool { parts.contains { $0.isExactly("*") } }

    typealias Test = (Span<UInt8>, JSONToken) -> Bool

    /// Whether a test holds for a value that the pointer leads to from the root value; no later one is tested.
    ///
    /// A path that does not exist, or an empty container at a star, counts as one absent value.
    func contains(_ text: Span<UInt8>, _ value: JSONToken, from index: Int = 0, where test: Test) -> Bool {
        guard index < parts.count else { return test(text, value) }
        switch value.kind {
        case .object: return memberContains(text, value, from: index, where: test)
        case .array: return elementContains(text, value, from: index, where: test)
        case .string:
            let bytes = value.bytes(in: text)
            let first = bytes.first { $0 > 0x20 }
            guard first == UInt8(ascii: "{") || first == UInt8(ascii: "["),
                let inner = try? JSONToken(only: bytes.span, .ofString)
            else { break }
            return contains(bytes.span, inner, from: index, where: test)
        case .number, .true, .false, .null, .absent: break
        }
        return test(text, .absent)
    }

    private func memberContains(_ text: Span<UInt8>, _ value: JSONToken, from index: Int, where test: Test) -> Bool {
        let isEach = parts[index].isExactly("*")
        var isEmpty = true
        var members = ObjectMembers(text, at: Int(value.start))
        while let (key, value) = members.next(text) {
            guard isEach || key.matches(parts[index].utf8.span, in: text) else { continue }
            isEmpty = false
            let isFound = contains(text, value, from: index + 1, where: test)
            // Of duplicate keys the first counts.
            if isFound || !isEach { return isFound }
        }
        return isEmpty && test(text, .absent)
    }

    private func elementContains(_ text: Span<UInt8>, _ value: JSONToken, from index: Int, where test: Test) -> Bool {
        let part = parts[index]
        let isEach = part.isExactly("*")
        // "01" and "-0" are no indexes.
        let wanted = Int(part).flatMap { String($0).isExactly(part) ? $0 : nil }
        guard isEach || wanted != nil else { return test(text, .absent) }
        var reader = JSONReader(at: Int(value.start), limits: .checked)
        reader.advance()
        var count = 0
        while reader.nextElement(text, isFirst: count == 0), let element = try? reader.readValue(text, depth: 1) {
            if isEach || count == wanted {
                let isFound = contains(text, element, from: index + 1, where: test)
                if isFound || !isEach { return isFound }
            }
            count += 1
        }
        return !(isEach && count > 0) && test(text, .absent)
    }
}

/// Why a text is not a pointer.
package struct DataPointerError: Error {
    package let what: String
}

extension DataCondition {
    /// Whether the predicate holds for a value of the root key, or for one that the pointer leads to.
    func holds(_ text: Span<UInt8>, _ value: JSONToken) -> Bool {
        guard let pointer else { return predicate.holds(text, value) }
        return pointer.contains(text, value) { predicate.holds($0, $1) }
    }

    /// The most values of a pointer with a star that ``actual(_:)`` returns.
    private static let mostActual = 10

    /// A message's value, as JSON: of a pointer with a star, the list of values; nil if there is none.
    package func actual(_ message: PushMessage) -> String? {
        guard let pointer else { return message.data[key]?.jsonText }
        var values: [DataValue] = []
        _ = message.data.first { text, key, value in
            guard key.matches(pointer.root.utf8.span, in: text) else { return nil as Bool? }
            return pointer.contains(text, value) { text, value in
                if value.isPresent { values.append(DataValue(text, value)) }
                return values.count == Self.mostActual
            }
        }
        return pointer.isMany && !values.isEmpty ? DataValue.array(values).jsonText : values.first?.jsonText
    }
}
