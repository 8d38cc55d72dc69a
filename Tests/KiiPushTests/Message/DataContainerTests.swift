import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Containers of the decoder that compilers seldom ask for, and people who decode by hand do.
struct DataContainerTests {
    private func decode<Value: Decodable>(_ type: Value.Type, _ members: String) throws -> Value {
        try PushMessage(json: "{\"topic\":\"t\",\(members)}").data.decode(type)
    }

    private enum Keys: String, CodingKey { case id, list, base }

    private class Base: Decodable {
        let id: Int
        init(id: Int) { self.id = id }
    }

    /// Decodes its superclass from where `JSONEncoder` puts it: under the key `super`.
    private final class Derived: Base {
        private(set) var hasBase = false
        required init(from decoder: any Decoder) throws {
            #expect(decoder.userInfo.isEmpty)
            try super.init(from: try decoder.container(keyedBy: Keys.self).superDecoder())
        }
    }

    @Test("a superclass is decoded from under the key super")
    func superclass() throws {
        #expect(try decode(Derived.self, #""id":1,"super":{"id":2}"#).id == 2)
        #expect(try decode(Derived.self, #""super":"{\"id\":\"3\"}""#).id == 3)
    }

    @Test("a missing superclass is an error with the path to it")
    func noSuperclass() throws {
        let error = try #require(throws: DecodingError.self) { try decode(Derived.self, #""id":1"#) }
        guard case .valueNotFound(_, let context) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["super"] && context.codingPath.first?.intValue == nil)
    }

    private struct ByKey: Decodable {
        let base: Base
        init(from decoder: any Decoder) throws {
            base = try Base(from: try decoder.container(keyedBy: Keys.self).superDecoder(forKey: .base))
        }
    }

    @Test("a superclass under a key of one's own")
    func superclassByKey() throws {
        #expect(try decode(ByKey.self, #""base":{"id":4}"#).base.id == 4)
        let error = try #require(throws: DecodingError.self) { try decode(ByKey.self, #""id":4"#) }
        guard case .keyNotFound(let key, _) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(key.stringValue == "base")
    }

    private struct Elements: Decodable {
        var ids: [Int] = []
        init(from decoder: any Decoder) throws {
            var list = try decoder.container(keyedBy: Keys.self).nestedUnkeyedContainer(forKey: .list)
            ids.append(try list.nestedContainer(keyedBy: Keys.self).decode(Int.self, forKey: .id))
            ids.append(try Base(from: try list.superDecoder()).id)
            #expect(list.currentIndex == 2)
            // An element that is of no use stays where it is.
            #expect(throws: DecodingError.self) { _ = try list.nestedContainer(keyedBy: Keys.self) }
            #expect(throws: DecodingError.self) { _ = try list.nestedUnkeyedContainer() }
            #expect(list.currentIndex == 2)
            ids.append(try list.decode(Int.self))
            #expect(throws: DecodingError.self) { _ = try list.superDecoder() }
            #expect(throws: DecodingError.self) { try list.decodeNil() }
        }
    }

    @Test("elements are taken one by one, as containers and as decoders")
    func elements() throws {
        #expect(try decode(Elements.self, #""list":[{"id":1},{"id":2},3]"#).ids == [1, 2, 3])
    }

    @Test("two spellings that are one key to Swift are two in a payload; a dictionary of Swift's keeps the later one")
    func spellings() throws {
        let decoded = try decode([String: [String: Int]].self, "\"k\":{\"e\u{301}\":1,\"\u{E9}\":2}")
        #expect(decoded == ["k": ["\u{E9}": 2]])
        struct Spelled: Decodable, Equatable {
            let composed: Int
            let decomposed: Int
            enum CodingKeys: String, CodingKey {
                case composed = "\u{E9}"
                // Another literal of the same text would be one raw value twice.
                case decomposed
            }
        }
        let both = try decode([String: Spelled].self, "\"k\":{\"decomposed\":1,\"e\u{301}\":3,\"\u{E9}\":2}")
        #expect(both == ["k": Spelled(composed: 2, decomposed: 1)])
    }
}
