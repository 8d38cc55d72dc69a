import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct RootKeyTests {
    private static let names: [String] =
        KiiField.allCases.map(\.longName) + KiiField.allCases.map(\.shortName).filter { $0.utf8.count <= 3 } + [
            "aps", "_kl",
        ]

    private func find(_ name: String) -> RootKey? { KeyTable.known.find(name.utf8.span, 0..<name.utf8.count) }

    @Test("there are 34 keys, each with a slot of its own")
    func slots() {
        #expect(Self.names.count == RootKey.count)
        #expect(Set(Self.names.compactMap { find($0)?.slot }) == Set(0..<RootKey.count))
    }

    @Test("rejects longer, shorter or differently written keys", arguments: names)
    func neighbours(_ name: String) {
        var neighbours = [
            name + "x", "x" + name, name + " ", " " + name, name + "\u{0}", name + "s", name.uppercased(), name + name,
            String(name.dropFirst()), String(name.dropLast()), name.lowercased(),
        ]
        // One character changed, at each place: every byte of a key must count.
        for index in name.indices {
            neighbours.append(name.replacingCharacters(at: index, with: "_"))
            neighbours.append(name.replacingCharacters(at: index, with: "é"))
        }
        for neighbour in neighbours where !Self.names.contains(neighbour) {
            #expect(find(neighbour) == nil, "\(neighbour)")
        }
    }

    @Test("a short key is found by its word, and no other word is a key", arguments: names)
    func words(_ name: String) {
        let text = name.utf8.span
        guard text.count < 8 else { return }
        let word = text.word(at: 0, length: text.count)
        #expect(KeyTable.known.find(word)?.slot == find(name)?.slot)
        for bit in 0..<56
        where !Self.names.contains(where: { $0.utf8.span.word(at: 0, length: min(8, $0.utf8.count)) == word ^ 1 << bit }
        ) {
            #expect(KeyTable.known.find(word ^ 1 << bit) == nil)
        }
    }

    @Test("a key of any length is looked up without a crash", arguments: 0...64)
    func lengths(_ length: Int) throws {
        let name = String(repeating: "k", count: length)
        #expect(find(name) == nil)
        let message = try PushMessage(RawPayload("{\"\(name)\":1}"))
        #expect(message.data.keys == [name])
    }

    @Test("a key is found in the middle of a text, not beyond its range")
    func range() {
        let text = "xbucketIDx"
        #expect(KeyTable.known.find(text.utf8.span, 1..<9)?.slot == RootKey.long(.bucketID).slot)
        #expect(KeyTable.known.find(text.utf8.span, 1..<10) == nil)
        #expect(KeyTable.known.find(text.utf8.span, 0..<9) == nil)
        #expect(KeyTable.known.find(text.utf8.span, 1..<8) == nil)
    }
}

extension String {
    fileprivate func replacingCharacters(at index: Index, with character: Character) -> String {
        var copy = self
        copy.replaceSubrange(index...index, with: String(character))
        return copy
    }
}
