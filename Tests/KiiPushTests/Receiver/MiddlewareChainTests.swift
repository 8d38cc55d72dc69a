import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct MiddlewareChainTests {
    let log = EventLog()
    let payload = PayloadFixture.pushToApp().payload(.long)

    /// Sends a message through a chain and settles it.
    private func run(_ chain: CompiledChain) throws -> (isAdmitted: Bool, passed: Int) {
        var message = try RoutedMessage(payload)
        var passed = 0
        let outcome = chain.admit(&message, &passed)
        chain.settle(message, .handled(MatchedRoutes()), passed)
        return (outcome == nil, passed)
    }

    @Test("if, else and switch choose middlewares of any type and number; each is named by its type", arguments: 0..<3)
    func chosen(which: Int) throws {
        let chain = makeChain {
            if which > 0 { Probe("if", log) }
            if which == 1 {
                ScopeFilter()
                Probe("else", log)
            } else {
                StopAll()
            }
            switch which {
            case 0: Probe("zero", log)
            case 1:
                Deduplicator()
                LoopGuard()
            default: if false { Probe("never", log) }
            }
        }
        let names = [
            ["StopAll", "zero"], ["if", "ScopeFilter", "else", "Deduplicator", "LoopGuard"], ["if", "StopAll"],
        ]
        #expect(chain.names == names[which])
        #expect(try run(chain) == (true, names[which].count))
    }

    /// With the number 4 none of the four middlewares drops the message.
    @Test(
        "asks middlewares in order until one drops the message or throws, and tells those before it, last first",
        arguments: 0...4, [true, false])
    func dropped(at number: Int, isThrowing: Bool) throws {
        let chain = makeChain {
            for index in 0..<4 {
                Probe("\(index)", log) {
                    if index < number { return .pass }
                    if isThrowing { throw TestError() }
                    return .refuse("test")
                }
            }
        }
        var message = try RoutedMessage(payload)
        var passed = 0
        let outcome = chain.admit(&message, &passed)
        let failure = Outcome.failure(of: "\(number)", isMiddleware: true, TestError())
        #expect(outcome == (number == 4 ? nil : isThrowing ? failure : .refused(.other("test"))) && passed == number)
        chain.settle(message, .unrouted(.noRoute), passed)
        let settled = (0..<number).reversed().map { "settle \($0): unrouted (noRoute)" }
        #expect(log.events == (0...min(number, 3)).map { "admit \($0)" } + settled)
    }

    @Test("a middleware can change the message for later ones")
    func passedOn() throws {
        let chain = makeChain {
            StopAll()
            SeesNoRoutes(log: log)
        }
        var message = try RoutedMessage(payload, routes: [Route("one"), Route("two")])
        var passed = 0
        _ = chain.admit(&message, &passed)
        #expect(log.events == ["routes: 0"] && message.routes.isEmpty)
    }

    private struct StopAll: Middleware {
        func admit(_ message: inout RoutedMessage) -> Verdict {
            message.stopRoutes(.refused(.other("test"))) { _ in true }
            return .pass
        }
    }

    private struct SeesNoRoutes: Middleware {
        let log: EventLog
        func admit(_ message: inout RoutedMessage) -> Verdict {
            log.add("routes: \(message.routes.count)")
            return .pass
        }
    }
}

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
