import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct DataDecoderTests {
    private func decode<Value: Decodable>(
        _ type: Value.Type, _ members: String, over transport: Transport = .mqtt
    ) throws -> Value {
        try PushMessage(json: "{\"topic\":\"t\",\(members)}", over: transport).data.decode(type)
    }

    private func decode<Value: Decodable>(_ members: String, over transport: Transport = .mqtt) throws -> Value {
        try decode(Value.self, members, over: transport)
    }

    struct Order: Decodable, Equatable {
        struct Line: Decodable, Equatable {
            var name: String
            var count: Int
            var note: String?
        }
        enum State: String, Decodable { case open, closed }
        enum Level: Int, Decodable { case low = 1, high = 2 }
        var id: String
        var paid: Bool
        var total: Double
        var state: State
        var level: Level
        var lines: [Line]
        var byName: [String: Line]?
        var tags: Set<String>?
    }

    private static let order = Order(
        id: "o-1", paid: true, total: 10.5, state: .open, level: .high,
        lines: [.init(name: "a", count: 2), .init(name: "b", count: 0, note: "n")],
        byName: ["x": .init(name: "x", count: 1)], tags: ["p", "q"])

    @Test("nested types, optionals, arrays, dictionaries, sets and enums are filled")
    func nested() throws {
        let order: Order = try decode(
            #""id":"o-1","paid":true,"total":10.5,"state":"open","level":2,"unknown":[1],"#
                + #""lines":[{"name":"a","count":2},{"name":"b","count":0,"note":"n"}],"#
                + #""byName":{"x":{"name":"x","count":1,"note":null}},"tags":["q","p","q"]"#)
        #expect(order == Self.order)
    }

    @Test("the same values are read from strings, as FCM sends them")
    func fromStrings() throws {
        let order: Order = try decode(
            #""id":"o-1","paid":"true","total":"10.5","state":"open","level":"2","#
                + #""lines":"[{\"name\":\"a\",\"count\":\"2\"},{\"name\":\"b\",\"count\":0,\"note\":\"n\"}]","#
                + #""byName":"{\"x\":{\"name\":\"x\",\"count\":1}}","tags":"[\"p\",\"q\"]""#, over: .fcm)
        #expect(order == Self.order)
    }

    struct Optionals: Decodable, Equatable {
        var text: String?
        var number: Int?
        var flag: Bool?
        var list: [Int?]?
    }

    @Test(
        "an optional is nil when its key is absent or null",
        arguments: [
            (#""x":1"#, Optionals()), (#""text":null,"number":null,"flag":null,"list":null"#, Optionals()),
            (#""text":"","number":0,"flag":false,"list":[]"#, Optionals(text: "", number: 0, flag: false, list: [])),
            (#""list":[1,null,3]"#, Optionals(list: [1, nil, 3])), (#""list":"[null]""#, Optionals(list: [nil])),
        ])
    func optionals(_ members: String, _ expected: Optionals) throws {
        #expect(try decode(members) == expected)
    }

    @Test("numbers are exact, from numbers and from strings")
    func exact() throws {
        #expect(
            try decode([String: Int64].self, #""a":9007199254740993,"b":9007199254740993.0,"c":1e3"#)
                == ["a": 9_007_199_254_740_993, "b": 9_007_199_254_740_993, "c": 1000])
        #expect(try decode([String: Double].self, #""a":0.1,"b":"0.1""#) == ["a": 0.1, "b": 0.1])
        #expect(try decode([String: Float].self, #""a":0.5,"b":"0.5""#) == ["a": 0.5, "b": 0.5])
    }

    @Test(
        "a number that does not fit, or is none, is a mismatch at its key",
        arguments: [
            "128", "-129", "1.5", "1e400", "\"\"", "\"x\"", "\"007\"", "\"+5\"", "\" 5\"", "\"0x5\"", "true", "[5]",
            "{}", "1e-1", "300",
        ])
    func noFit(_ value: String) throws {
        let error = try #require(throws: DecodingError.self) { try decode([String: Int8].self, "\"k\":\(value)") }
        #expect(path(of: error).kind == "typeMismatch" && path(of: error).path == ["k"])
    }

    @Test("a number that a Float or an unsigned type cannot hold is a mismatch")
    func beyondFloat() {
        #expect(throws: DecodingError.self) { try decode([String: Float].self, #""k":1e300"#) }
        #expect(throws: DecodingError.self) { try decode([String: Double].self, #""k":1e400"#) }
        #expect(throws: DecodingError.self) { try decode([String: UInt].self, #""k":-1"#) }
    }

    @Test("text is taken from numbers and booleans too, exactly as sent")
    func text() throws {
        #expect(
            try decode([String: String].self, #""a":"x","b":1.50,"c":true"#) == ["a": "x", "b": "1.50", "c": "true"])
        #expect(throws: DecodingError.self) { try decode([String: String].self, #""a":["x"]"#) }
        #expect(throws: DecodingError.self) { try decode([String: String].self, #""a":null"#) }
    }

    @Test("booleans are taken from 0 and 1 too")
    func booleans() throws {
        #expect(
            try decode([String: Bool].self, #""a":true,"b":1,"c":"0","d":"false""#) == [
                "a": true, "b": true, "c": false, "d": false,
            ])
        #expect(throws: DecodingError.self) { try decode([String: Bool].self, #""a":2"#) }
        #expect(throws: DecodingError.self) { try decode([String: Bool].self, #""a":"yes""#) }
    }

    struct Deep: Decodable {
        struct Inner: Decodable { var list: [Int] }
        var inner: Inner
    }

    private func path(of error: DecodingError) -> (kind: String, path: [String], last: Int?) {
        let (kind, context, missing): (String, DecodingError.Context, [any CodingKey]) =
            switch error {
            case .keyNotFound(let key, let context): ("keyNotFound", context, [key])
            case .typeMismatch(_, let context): ("typeMismatch", context, [])
            case .valueNotFound(_, let context): ("valueNotFound", context, [])
            case .dataCorrupted(let context): ("dataCorrupted", context, [])
            @unknown default: ("unknown", .init(codingPath: [], debugDescription: ""), [])
            }
        let path = context.codingPath + missing
        return (kind, path.map(\.stringValue), path.last?.intValue)
    }

    @Test(
        "an error says what is wrong and has the path to it",
        arguments: [
            (#""x":1"#, "keyNotFound", ["inner"]), (#""inner":{}"#, "keyNotFound", ["inner", "list"]),
            (#""inner":null"#, "valueNotFound", ["inner"]), (#""inner":5"#, "typeMismatch", ["inner"]),
            (#""inner":"no json""#, "typeMismatch", ["inner"]), (#""inner":"[1]""#, "typeMismatch", ["inner"]),
            (#""inner":[]"#, "typeMismatch", ["inner"]), (#""inner":{"list":{}}"#, "typeMismatch", ["inner", "list"]),
            (#""inner":{"list":[1,"x"]}"#, "typeMismatch", ["inner", "list", "Index 1"]),
            (#""inner":{"list":[1,2,null]}"#, "valueNotFound", ["inner", "list", "Index 2"]),
            (#""inner":"{\"list\":\"[true]\"}""#, "typeMismatch", ["inner", "list", "Index 0"]),
        ])
    func paths(_ members: String, _ kind: String, _ path: [String]) throws {
        let error = try #require(throws: DecodingError.self) { try decode(Deep.self, members) }
        let found = self.path(of: error)
        #expect(found.kind == kind && found.path == path)
        if path.last?.hasPrefix("Index") == true { #expect(found.last != nil) }
    }

    @Test("an unknown case of an enum is an error at its key")
    func unknownCase() throws {
        let error = try #require(throws: DecodingError.self) { try decode([String: Order.State].self, #""s":"ajar""#) }
        #expect(path(of: error).kind == "dataCorrupted" && path(of: error).path == ["s"])
    }

    enum Shape: Decodable, Equatable {
        case circle(radius: Double)
        case point
        case line(Int, Int)
    }

    @Test("enums with values are filled as the compiler writes them")
    func enums() throws {
        let shapes: [String: Shape] = try decode(
            #""a":{"circle":{"radius":1.5}},"b":{"point":{}},"c":"{\"line\":{\"_0\":1,\"_1\":2}}""#)
        #expect(shapes == ["a": .circle(radius: 1.5), "b": .point, "c": .line(1, 2)])
    }

    struct ByHand: Decodable, Equatable {
        enum Keys: String, CodingKey { case outer, list, none }
        var keys: Set<String>
        var nested: Int
        var rows: [[Int]]
        init(keys: Set<String>, nested: Int, rows: [[Int]]) {
            (self.keys, self.nested, self.rows) = (keys, nested, rows)
        }
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            keys = Set(container.allKeys.map(\.rawValue))
            let outer = try container.nestedContainer(keyedBy: Keys.self, forKey: .outer)
            nested = outer.contains(.none) ? try outer.decode(Int.self, forKey: .none) : -1
            var list = try container.nestedUnkeyedContainer(forKey: .list)
            rows = []
            while !list.isAtEnd {
                if try list.decodeNil() { continue }
                var row = try list.nestedUnkeyedContainer()
                var numbers: [Int] = []
                while !row.isAtEnd { numbers.append(try row.decode(Int.self)) }
                #expect(row.currentIndex == row.count)
                #expect(throws: DecodingError.self) { try row.decode(Int.self) }
                rows.append(numbers)
            }
        }
    }

    @Test("containers can be taken by hand")
    func byHand() throws {
        let value: ByHand = try decode(#""outer":{"none":7},"list":[[1,2],null,[],"[3]"],"other":1"#)
        #expect(value == ByHand(keys: ["outer", "list"], nested: 7, rows: [[1, 2], [], [3]]))
    }

    @Test("every width of integer has its own bounds")
    func widths() throws {
        func check<Value: FixedWidthInteger & Decodable>(_ type: Value.Type) throws {
            let found = try decode([String: Value].self, "\"min\":\(Value.min),\"max\":\"\(Value.max)\"")
            #expect(found == ["min": .min, "max": .max])
            #expect(throws: DecodingError.self) { try decode([String: Value].self, "\"k\":\(Value.max)0") }
            #expect(throws: DecodingError.self) { try decode([String: Value].self, #""k":true"#) }
        }
        let types: [any (FixedWidthInteger & Decodable).Type] = [
            Int.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt.self, UInt8.self, UInt16.self, UInt32.self,
            UInt64.self,
        ]
        for type in types { try check(type) }
    }

    @Test("only the sender's data is decoded, not Kii's fields")
    func onlyData() throws {
        struct Topic: Decodable { var topic: String }
        #expect(throws: DecodingError.self) { try decode(Topic.self, #""x":1"#) }
        #expect(throws: DecodingError.self) { try decode(Int.self, #""x":1"#) }
        #expect(throws: DecodingError.self) { try decode([Int].self, #""x":1"#) }
        #expect(try decode([String: Int].self, #""x":1,"from":"2","_kl":"1;0;me""#) == ["x": 1])
    }
}
