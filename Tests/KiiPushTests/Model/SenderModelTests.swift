import Testing

@testable import KiiPush

struct SenderModelTests {
    @Test(
        "each sender has an id and the name of its type",
        arguments: [
            (Sender.user(KiiUser(id: "U")), "user", "U"), (.user(id: "U"), "user", "U"),
            (.thing(KiiThing(id: "th.1")), "thing", "th.1"),
            (.thing(id: "th.1"), "thing", "th.1"), (.admin("APP_ADMIN"), "admin", "APP_ADMIN"),
        ])
    func names(_ sender: Sender, _ type: String, _ id: String) {
        #expect(sender.typeName == type && sender.id == id)
    }

    @Test("a user and a thing with equal ids differ")
    func kinds() {
        #expect(Set([Sender.user(id: "x"), .thing(id: "x"), .admin("x"), .user(id: "x")]).count == 3)
    }
}
