import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct PayloadLimitsTests {
    private func read(_ text: String, _ limits: PayloadLimits) throws(DecodeError) -> PushMessage {
        try PushMessage(RawPayload(text), limits: limits)
    }

    @Test("the standard limits are 64 KiB, 32 levels and 1,024 members")
    func standard() {
        #expect(PayloadLimits.standard == PayloadLimits(bytes: 65_536, depth: 32, members: 1024))
    }

    @Test("clamps limits to their ranges")
    func clamped() {
        let least = PayloadLimits(bytes: -1, depth: 0, members: -5)
        #expect((least.bytes, least.depth, least.members) == (1, 1, 0))
        let most = PayloadLimits(bytes: .max, depth: .max, members: .max)
        #expect((most.bytes, most.depth, most.members) == (16 << 20, 64, .max))
    }

    @Test("a payload of exactly the most bytes is read, one byte more is refused at it", arguments: [20, 100, 65_536])
    func bytes(_ most: Int) throws {
        let text = "{\"k\":\"" + String(repeating: "x", count: most - 8) + "\"}"
        let limits = PayloadLimits(bytes: most)
        #expect(try read(text, limits).data["k"]?.string?.utf8.count == most - 8)
        RefusedText("one byte more", Array(text.utf8) + [0x20], .limitExceeded, at: most).check(limits: limits)
    }

    @Test("refuses a payload that is too large before reading it")
    func bytesFirst() {
        let limits = PayloadLimits(bytes: 4)
        RefusedText("broken beyond the limit", Array("{\"a\":nonsense".utf8), .limitExceeded, at: 4).check(
            limits: limits)
        RefusedText("white space", [UInt8](repeating: 0x20, count: 5), .limitExceeded, at: 4).check(limits: limits)
    }

    /// A payload of `depth` levels, its own object being the first, and the byte at which the last one opens.
    private func nested(_ depth: Int, _ open: String, _ close: String) -> (text: String, last: Int) {
        let start = "{\"k\":"
        let opens = String(repeating: open, count: depth - 1)
        let closes = String(repeating: close, count: depth - 1)
        return (start + opens + "1" + closes + "}", start.utf8.count + max(0, opens.utf8.count - open.utf8.count))
    }

    @Test(
        "exactly the deepest nesting is read, one level more is refused where it opens", arguments: [1, 2, 3, 32, 64])
    func depth(_ deepest: Int) throws {
        let limits = PayloadLimits(depth: deepest)
        for (open, close) in [("[", "]"), ("{\"k\":", "}")] {
            let message = try read(nested(deepest, open, close).text, limits)
            var value = try #require(message.data["k"])
            for _ in 1..<deepest { value = try #require(value[0] ?? value["k"]) }
            #expect(value == .number("1"))
            let (text, last) = nested(deepest + 1, open, close)
            RefusedText("one level more", Array(text.utf8), .limitExceeded, at: last).check(limits: limits)
        }
    }

    @Test("siblings do not add to the depth")
    func siblings() throws {
        let text = "{\"k\":[" + Array(repeating: "[{}]", count: 100).joined(separator: ",") + "]}"
        _ = try read(text, PayloadLimits(depth: 4))
        RefusedText("deeper by one", Array("{\"k\":[[],[],[[{}]]]}".utf8), .limitExceeded, at: 14)
            .check(limits: PayloadLimits(depth: 4))
    }

    @Test("stops a hundred thousand open brackets at the limit", arguments: ["[", "{\"a\":", "[[],", "{\"a\":["])
    func brackets(_ open: String) throws {
        let text = "{\"k\":" + String(repeating: open, count: 100_000)
        #expect(throws: DecodeError.self) { try PushMessage(json: text) }
        let error = #expect(throws: DecodeError.self) { try read(text, PayloadLimits(bytes: .max, depth: 64)) }
        #expect(error?.code == .limitExceeded)
        #expect(throws: DecodeError.self) { try read(String(text.dropFirst(5)), PayloadLimits(bytes: .max)) }
    }

    @Test("exactly the most members are read, one more is refused at its key", arguments: [1, 2, 16, 17, 1024])
    func members(_ most: Int) throws {
        let limits = PayloadLimits(members: most)
        let flat = (0..<most).map { "\"\($0 % 2 == 0 ? "k" : "longer than a word ")\($0)\":1" }.joined(separator: ",")
        #expect(try read("{\(flat)}", limits).data.keys.count == most)
        RefusedText("{\(flat),↓\"more\":1}", .limitExceeded).check(limits: limits)
    }

    @Test("members count in the whole payload, wherever they are nested")
    func nestedMembers() throws {
        let limits = PayloadLimits(members: 5)
        _ = try read(#"{"a":{"b":1},"c":[{"d":2},{"e":3},[],1,2,3,4,5,6,7]}"#, limits)
        RefusedText(#"{"a":{"b":1},"c":[{"d":2},{"e":3,↓"f":4}]}"#, .limitExceeded).check(limits: limits)
        RefusedText(#"{"a":{"b":1},"c":[{"d":2},{"e":3}],↓"f":4}"#, .limitExceeded).check(limits: limits)
        RefusedText(#"{↓"a":1}"#, .limitExceeded).check(limits: PayloadLimits(members: 0))
        _ = try read("{}", PayloadLimits(members: 0))
    }

    @Test("a doubled key at the limit of members is still found")
    func duplicateAtTheLimit() {
        let limits = PayloadLimits(depth: 2, members: 3)
        RefusedText(#"{"\u0061":[],"b":[],↓"a":[]}"#, .duplicateKey).check(limits: limits)
    }
}
