import KiiPush

/// Readings of a sensor as lines of `KEY=VALUE`: `id`, `from` and `kind`, then what it measured.
struct KeyValueLines: PayloadFormat {
    let name = "lines"

    func recognise(_ payload: borrowing PayloadView) -> Evidence? {
        let keys = payload.text?.split(separator: "\n").prefix(3).compactMap { $0.split(separator: "=").first }
        return keys == ["id", "from", "kind"] ? Evidence(["id", "from", "kind"]) : nil
    }

    func read(_ payload: borrowing PayloadView) throws(DecodeError) -> ForeignPush {
        let pairs = try Self.pairs(payload)
        func value(_ key: String) -> String? { pairs.first { $0.key == key }?.value.string }
        return ForeignPush(
            id: value("id"), source: value("from"), type: value("kind"), subject: value("room"),
            sentAt: value("at").flatMap { Int64($0) }, data: .members(Array(pairs.dropFirst(3))))
    }

    private static func pairs(
        _ payload: borrowing PayloadView
    ) throws(DecodeError) -> [(key: String, value: DataValue)] {
        var pairs: [(key: String, value: DataValue)] = []
        var offset = 0
        for line in payload.text?.split(separator: "\n", omittingEmptySubsequences: false) ?? [] {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 || line.isEmpty else {
                throw DecodeError(.badEncoding, at: offset, "expected KEY=VALUE in this line")
            }
            if parts.count == 2 { pairs.append((String(parts[0]), .string(String(parts[1])))) }
            offset += line.utf8.count + 1
        }
        return pairs
    }
}
