extension DataPredicate {
    /// Whether a value fulfils the predicate; an absent token is a missing key.
    package func holds(_ text: Span<UInt8>, _ value: JSONToken) -> Bool {
        guard value.hasEscapes else { return holds(plain: text, value) }
        let bytes = value.bytes(in: text)
        return holds(plain: bytes.span, JSONToken(.string, 0, bytes.count))
    }

    private func holds(plain text: Span<UInt8>, _ value: JSONToken) -> Bool {
        switch test {
        case .exists(let isThere): value.isPresent == isThere
        case .not(let predicate): !predicate.holds(plain: text, value)
        case .all(let predicates): predicates.allSatisfy { $0.holds(plain: text, value) }
        case .any(let predicates): predicates.contains { $0.holds(plain: text, value) }
        case .like(let pattern):
            value.isPresent && (pattern.takesAnything || value.isTextual && pattern.matches(text, value.range))
        case .equals(let wanted): value.equals(wanted, text)
        case .anyOf(let wanted): wanted.contains { value.equals($0, text) }
        case .prefix(let prefix): value.isTextual && text.begins(value.range, with: prefix)
        case .suffix(let suffix):
            value.isTextual && suffix.utf8.count <= value.range.count
                && text.matches((value.range.upperBound - suffix.utf8.count)..<value.range.upperBound, suffix)
        case .greater(let limit): compare(limit, text, value) { limit, number in limit < number }
        case .less(let limit): compare(limit, text, value) { limit, number in number < limit }
        }
    }

    private func compare(
        _ limit: String, _ text: Span<UInt8>, _ value: JSONToken, _ isSo: (DecimalText, DecimalText) -> Bool
    ) -> Bool {
        guard value.kind == .number || value.kind == .string,
            let number = DecimalText(text, value.range), let limit = DecimalText(limit)
        else { return false }
        return isSo(limit, number)
    }
}

extension JSONToken {
    /// Whether the value has a text: a string, a number or a boolean.
    fileprivate var isTextual: Bool {
        switch kind {
        case .string, .number, .true, .false: true
        case .absent, .null, .object, .array: false
        }
    }

    /// Whether it equals a literal: a number by value, others by text, whatever its own type, as FCM has only strings.
    fileprivate func equals(_ wanted: DataValue, _ text: Span<UInt8>) -> Bool {
        if case .null = wanted { return kind == .null }
        guard isTextual, let wantedText = wanted.string else { return false }
        if case .number = wanted { return DecimalText.areEqual(text, range, wantedText) }
        return text.matches(range, wantedText)
    }
}

extension [DataCondition] {
    /// Whether all hold for a message; reads its members once, and builds no values.
    package func hold(_ storage: MessageStorage) -> Bool {
        let data = MessageData(storage: storage)
        if count == 1 {
            let only = self[0]
            let found = data.first { text, key, value in
                key.matches(only.root.utf8.span, in: text) ? only.holds(text, value) : nil
            }
            if let found { return found }
            let buffer = storage.buffer
            return only.holds(buffer.span, .absent)
        }
        var values = [JSONToken](repeating: .absent, count: count)
        data.forEach { text, key, value in
            for index in indices where key.matches(self[index].root.utf8.span, in: text) { values[index] = value }
        }
        let buffer = storage.buffer
        let text = buffer.span.extracting(storage.dataRange)
        return indices.allSatisfy { self[$0].holds(text, values[$0]) }
    }
}
