import KiiPush
import KiiPushRules
import Testing

@testable import KiiPushTestSupport

/// What the linter advises to write, pasted into the rule that it is about.
struct LintAdviceTests {
    /// A rule with a write that fills in one field.
    private static func rule(_ when: String?, _ field: String) -> String {
        let condition = when.map { #""when":\#($0),"# } ?? ""
        let then = #"{"write":{"object":"kiicloud://buckets/x/objects/o","fields":{"v":"${\#(field)}"}}}"#
        return #"{"id":"r",\#(condition)"then":\#(then)}"#
    }

    private static func findings(_ rule: String) throws -> [RuleFinding] {
        try RoutingRules(LintSamples.file([rule])).lint()
    }

    /// The members of an object in JSON, with those of another one instead of or behind them.
    private static func merged(_ object: String, _ members: String) throws -> String {
        guard case .object(var all)? = DataValue(json: object), case .object(let new)? = DataValue(json: "{\(members)}")
        else { throw Unreadable(text: members) }
        for member in new {
            all.removeAll { $0.key == member.key }
            all.append(member)
        }
        return DataValue.object(all).json
    }

    private struct Unreadable: Error { let text: String }

    /// A rule's `when` after a finding's advice was followed; nil if there is nothing to add.
    private static func followed(_ what: String, in when: String?) throws -> String? {
        let advice = what.components(after: "; ") ?? what
        if let text = advice.between("add ", " to 'when'") { return try merged(when ?? "{}", text) }
        guard let text = advice.between("add ", " to 'data' in 'when'") else { return nil }
        let data = DataValue(json: when ?? "{}")?["data"]?.json ?? "{}"
        return try merged(when ?? "{}", "\"data\":\(merged(data, text))")
    }

    @Test(
        "a value that is missing is asked for as advised, and then nothing is found",
        arguments: [
            (#"{"topic":"t"}"#, "data.text"), (nil, "data.text"), (#"{"topic":"t","data":{"a":1}}"#, "data.text"),
            (#"{"topic":"t"}"#, #"data.a\"b\\c"#), (#"{"topic":"t"}"#, "scopeID"), (#"{"topic":"t"}"#, "senderID"),
            (#"{"bucket":"b"}"#, "object"), (nil, "topic"), (nil, "bucket"),
            (#"{"kind":"pushToUser"}"#, "topic"),
        ] as [(String?, String)])
    func follows(when: String?, field: String) throws {
        let found = try #require(try Self.findings(Self.rule(when, field)).first { $0.code == .missingValue })
        let better = try #require(try Self.followed(found.what, in: when), "\(found.what)")
        // That a rule writes to every bucket that it takes is another matter.
        let after = try Self.findings(Self.rule(better, field)).filter { $0.code != .feedsItself }
        #expect(after.isEmpty, "\(found.what) → \(after)")
    }

    @Test(
        "where no new condition helps, the advice says why, or what to change",
        arguments: [
            (#"{"topic":"t"}"#, "data.temp.value", "a dot does not look into a value"),
            (#"{"topic":"t"}"#, "bucket", "none of them has it"), (#"{"bucket":"b"}"#, "topic", "none of them has it"),
            (#"{"kind":"directPush"}"#, "object", "none of them has it"),
            (#"{"kind":"directPush"}"#, "scopeID", "none of them has it"),
            (#"{"topic":"t","scope":"APP"}"#, "scopeID", "none of them has it"),
            (#"{"bucket":"b"}"#, "data.temp", "Kii sends no data with a Push to App"),
            (#"{"topic":"t","data":{"x":{"exists":false}}}"#, "data.x", "asks that the field is missing"),
            (#"{"topic":"t","data":{"x":{"not":1}}}"#, "data.x", #"add "exists": true to what 'data' asks of it"#),
            (#"{"topic":"t"}"#, "data.aps", "belongs to Apple"),
        ])
    func none(when: String, field: String, why: String) throws {
        let found = try #require(try Self.findings(Self.rule(when, field)).first { $0.code == .missingValue })
        #expect(found.what.contains(exactly: why), "\(found.what)")
        #expect(try Self.followed(found.what, in: when) == nil)
    }

    @Test(
        "the certainty that is advised ends the finding",
        arguments: [
            #"{"kind":"directPush","scope":"user:u"}"#, #"{"kind":"directPush","scopeID":"u","certainty":"certain"}"#,
            #"{"topic":"t","certainty":"likely"}"#,
        ])
    func certainty(when: String) throws {
        func codes(_ when: String) throws -> [RuleFinding] {
            try Self.findings(#"{"id":"r","when":\#(when),"then":{"handler":"h"}}"#)
        }
        let found = try #require(try codes(when).first { $0.code == .neverMatches })
        let text = try #require(found.what.components(after: "write "))
        #expect(try codes(Self.merged(when, text)).isEmpty, "\(found.what)")
    }

    @Test("a member that is advised in quotes is one of a rules file, and ends the finding")
    func members() throws {
        let first = #"{"id":"a","when":{"bucket":"b"},"then":{"handler":"h"}}"#
        let second = #"{"id":"b","when":{"bucket":"b"},"then":{"handler":"i"}}"#
        let shadowed = try #require(try RoutingRules(LintSamples.file([first, second])).lint().first)
        let flow = try #require(shadowed.what.components(after: "give that one "))
        #expect(try RoutingRules(LintSamples.file([Self.merged(first, flow), second])).lint().isEmpty)

        let delivery = #"{"attempts":3,"backoff":"10s","maxAge":"1s"}"#
        let late = try #require(try Self.findings(Self.merged(first, "\"delivery\":\(delivery)")).first)
        let attempts = try #require(late.what.components(after: "or say "))
        let better = try Self.merged(delivery, attempts)
        #expect(try Self.findings(Self.merged(first, "\"delivery\":\(better)")).isEmpty)

        let condition = #""when":{"bucket":"b","scopeID":"user:u"}"#
        let owned = try #require(try Self.findings(Self.merged(first, condition)).first)
        let scope = try #require(owned.what.components(after: "write ")?.dropLast(" instead".count))
        let when = try Self.merged(#"{"bucket":"b"}"#, String(scope))
        #expect(try Self.findings(Self.merged(first, "\"when\":\(when)")).isEmpty)
    }

    @Test(
        "a line for a shell is run by one as advised", arguments: ["echo hello && date", "notify-send hi", "a|b 'c'"])
    func shell(line: String) throws {
        func findings(_ then: String) throws -> [RuleFinding] {
            try Self.findings(#"{"id":"r","when":{"topic":"t"},"then":\#(then)}"#)
        }
        let found = try #require(try findings("{\"run\":[\(line.quotedAsJSON)]}").first)
        #expect(found.code == .noShell)
        let then = try #require(found.what.components(after: "; write "))
        #expect(try findings(then).isEmpty, "\(found.what)")
    }
}

extension String {
    /// What follows the last occurrence of a text.
    fileprivate func components(after mark: String) -> String? {
        guard let range = ranges(of: mark).last else { return nil }
        return String(self[range.upperBound...])
    }

    /// What is between two texts at its ends.
    fileprivate func between(_ first: String, _ last: String) -> String? {
        guard hasPrefix(first), hasSuffix(last), count >= first.count + last.count else { return nil }
        return String(dropFirst(first.count).dropLast(last.count))
    }
}
