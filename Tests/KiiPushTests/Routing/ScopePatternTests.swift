import KiiPushTesting
import Testing

@testable import KiiPush

struct ScopePatternTests {
    private func matches(_ pattern: ScopePattern, _ fixture: PayloadFixture) throws -> Bool {
        let message = try PushMessage(fixture.payload(.long))
        let buffer = message.storage.buffer
        return pattern.matches(buffer.span, message.storage.classified)
    }

    private func matches(_ pattern: SenderPattern, _ fixture: PayloadFixture) throws -> Bool {
        let message = try PushMessage(fixture.payload(.long))
        let buffer = message.storage.buffer
        return pattern.matches(buffer.span, message.storage.classified)
    }

    // MARK: Scopes

    @Test("a scope pattern takes its kind of scope with an id that fits")
    func scopes() throws {
        let scopes: [KiiScope] = [
            .app, .user(KiiUser(id: "X-1")), .group(KiiGroup(id: "X-1")), .thing(KiiThing(id: "X-1")),
        ]
        let patterns: [(ScopePattern, [Bool])] = [
            (.app, [true, false, false, false]),
            (.user(), [false, true, false, false]),
            (.user("X-1"), [false, true, false, false]),
            (.user("X-*"), [false, true, false, false]),
            (.user("X-2"), [false, false, false, false]),
            (.group("X-1"), [false, false, true, false]),
            (.thing(["X-2", "X-1"]), [false, false, false, true]),
            ([.app, .group("X-2"), .thing("*")], [true, false, false, true]),
            ([], [false, false, false, false]),
        ]
        for (pattern, expected) in patterns {
            let found = try scopes.map { try matches(pattern, .pushToApp(scope: $0)) }
            #expect(found == expected, "\(pattern)")
        }
    }

    @Test("a scope that lacks its id is taken just by a pattern that leaves the id open")
    func missingID() throws {
        var fixture = PayloadFixture.pushToApp(scope: .user(KiiUser(id: "U-1")))
        fixture.fields[.scopeUserID] = nil
        #expect(try matches(ScopePattern.user(nil), fixture))
        #expect(try !matches(ScopePattern.user(), fixture), "a star needs something to stand for")
        #expect(try !matches(ScopePattern.user("U-1"), fixture))
    }

    @Test("no pattern takes a scope that is unknown or not stated", arguments: ["APP_AND_DOG", nil])
    func unknown(type: String?) throws {
        var fixture = PayloadFixture.pushToApp()
        fixture.fields[.scopeType] = type
        #expect(try !matches([.app, .user(nil), .group(nil), .thing(nil)], fixture))
    }

    @Test("only a pattern that names single owners gives ids to the index")
    func exactIDs() {
        #expect(ScopePattern.user("U-1").exactIDs == ["U-1"])
        #expect(([.user("U-1"), .thing(["a", "b"])] as ScopePattern).exactIDs == ["U-1", "a", "b"])
        #expect(ScopePattern.user("U-*").exactIDs == nil)
        #expect(ScopePattern.user(nil).exactIDs == nil)
        #expect(ScopePattern.app.exactIDs == nil)
        #expect(([.app, .user("U-1")] as ScopePattern).exactIDs == nil)
    }

    // MARK: Senders

    @Test("a sender pattern takes its kind of sender with an id that fits")
    func senders() throws {
        var admin = PayloadFixture.pushToUser(sender: nil)
        admin.fields[.senderURI] = "kiicloud://admins/APP_ADMIN"
        let fixtures: [PayloadFixture] = [
            .pushToUser(sender: "U-1"), .pushToUser(sender: "th.1"), admin, .pushToUser(sender: nil),
        ]
        let patterns: [(SenderPattern, [Bool])] = [
            (.user(), [true, false, false, false]),
            (.user("U-1"), [true, false, false, false]),
            (.user("th.1"), [false, false, false, false]),
            (.thing("th.*"), [false, true, false, false]),
            (.admin(), [false, false, true, false]),
            (.admin("OTHER"), [false, false, false, false]),
            ([.user("U-2"), .thing(), .admin("APP_*")], [false, true, true, false]),
            ([], [false, false, false, false]),
        ]
        for (pattern, expected) in patterns {
            let found = try fixtures.map { try matches(pattern, $0) }
            #expect(found == expected, "\(pattern)")
        }
    }

    @Test("only a pattern that names single senders gives ids to the index")
    func exactSenders() {
        #expect(([.user("U-1"), .admin("A")] as SenderPattern).exactIDs == ["U-1", "A"])
        #expect(SenderPattern.user().exactIDs == nil)
    }
}
