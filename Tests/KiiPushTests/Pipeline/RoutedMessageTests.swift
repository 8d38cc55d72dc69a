import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct RoutedMessageTests {
    let routes = ["a", "b", "c"].map { Route($0, flow: .continue) }

    @Test("the reason of the first stop is kept")
    func firstReason() throws {
        var message = try RoutedMessage(PayloadFixture.pushToApp().payload(.long), routes: routes)
        message.stopRoutes(.refused(.other("first"))) { $0.id == "c" }
        message.stopRoutes(.looped(.killSwitch)) { _ in true }
        #expect(message.routes.isEmpty)
        #expect(message.stopped == .refused(.other("first")))
    }

    @Test("matched routes are a collection in order, however many", arguments: 0...5)
    func collection(count: Int) {
        let ids = (0..<count).map { "route \($0)" }
        let matched = MatchedRoutes(ids.map { Route($0) })
        #expect(matched.count == count)
        #expect(matched.ids == ids)
        #expect(matched.indices.map { matched[$0].id } == ids)
        #expect(matched.isEmpty == (count == 0))
        #expect(matched.reversed().map(\.id) == ids.reversed())
    }
}
