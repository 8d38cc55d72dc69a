import Testing

@testable import KiiPush

struct KiiScopeTests {
    @Test(
        "a scope is complete if it is known and has its id",
        arguments: [
            (MessageScope(kind: .app, typeName: "APP", id: nil), KiiScope.app),
            (MessageScope(kind: .user, typeName: "APP_AND_USER", id: "U"), .user(KiiUser(id: "U"))),
            (MessageScope(kind: .group, typeName: "APP_AND_GROUP", id: "G"), .group(KiiGroup(id: "G"))),
            (MessageScope(kind: .thing, typeName: "APP_AND_THING", id: "th.1"), .thing(KiiThing(id: "th.1"))),
            (MessageScope(kind: .user, typeName: "APP_AND_USER", id: nil), nil),
            (MessageScope(kind: .group, typeName: "APP_AND_GROUP", id: nil), nil),
            (MessageScope(kind: .thing, typeName: "APP_AND_THING", id: nil), nil),
            (MessageScope(kind: .unknown, typeName: "APP_AND_MARS", id: nil), nil),
            (MessageScope(kind: .unknown, typeName: nil, id: nil), nil),
        ] as [(MessageScope, KiiScope?)])
    func scope(_ stated: MessageScope, _ scope: KiiScope?) {
        #expect(stated.owner == scope)
    }
}
