import KiiPush
import KiiPushTesting
import Testing

@testable import CustomMiddleware

@Suite("Sender quota")
struct SenderQuotaTests {
    struct Unreachable: Error {}

    @Test("a message that failed is given back to the period that it was counted in, and to no other")
    func failureAfterThePeriod() throws {
        let quota = SenderQuota(limit: 2, per: .seconds(60))
        func message(_ id: UInt64, at seconds: Int64) throws -> RoutedMessage {
            try RoutedMessage(
                forTesting: .pushToUser(sender: "chatty"), id: id,
                arrivedAt: MonotonicInstant(nanoseconds: seconds * 1_000_000_000))
        }
        var slow = try message(1, at: 0)
        #expect(quota.admit(&slow) == .pass)
        for id: UInt64 in 2...3 {
            var next = try message(id, at: 60)
            #expect(quota.admit(&next) == .pass)
        }
        // It was counted in the first minute, and the second is full.
        quota.settle(slow, .failed(at: "news", Unreachable()))
        var third = try message(4, at: 61)
        #expect(quota.admit(&third) == .refuse("sender quota"))
    }

    @Test("a message that failed within its period is given back, and one that was handled is not")
    func failureWithinThePeriod() throws {
        let quota = SenderQuota(limit: 1, per: .seconds(60))
        var first = try RoutedMessage(forTesting: .pushToUser(sender: "chatty"), id: 1)
        #expect(quota.admit(&first) == .pass)
        quota.settle(first, .failed(at: "news", Unreachable()))
        var second = try RoutedMessage(forTesting: .pushToUser(sender: "chatty"), id: 2, routes: ["news"])
        #expect(quota.admit(&second) == .pass)
        quota.settle(second, .handled(second.routes))
        var third = try RoutedMessage(forTesting: .pushToUser(sender: "chatty"), id: 3)
        #expect(quota.admit(&third) == .refuse("sender quota"))
        var other = try RoutedMessage(forTesting: .pushToUser(sender: "quiet"), id: 4)
        #expect(quota.admit(&other) == .pass)
        var nobodys = try RoutedMessage(forTesting: .pushToUser(sender: nil), id: 5)
        #expect(quota.admit(&nobodys) == .pass)
    }

    @Test("a sender that was forgotten for want of room gets nothing back of what it had before")
    func forgotten() throws {
        let quota = SenderQuota(limit: 1, per: .seconds(60), senders: 1)
        var first = try RoutedMessage(forTesting: .pushToUser(sender: "chatty"), id: 1)
        #expect(quota.admit(&first) == .pass)
        var other = try RoutedMessage(forTesting: .pushToUser(sender: "quiet"), id: 2)
        #expect(quota.admit(&other) == .pass)
        var second = try RoutedMessage(forTesting: .pushToUser(sender: "chatty"), id: 3)
        #expect(quota.admit(&second) == .pass)
        quota.settle(first, .failed(at: "news", Unreachable()))
        var third = try RoutedMessage(forTesting: .pushToUser(sender: "chatty"), id: 4)
        #expect(quota.admit(&third) == .refuse("sender quota"))
    }

    @Test("its place in a chain is behind the deduplicator")
    func chain() async {
        let clock = ManualClock()
        let receiver = PushReceiver(app: "0123abcd", clock: clock) {
            Deduplicator()
            LoopGuard()
            SenderQuota(limit: 2, per: .seconds(60))
            ScopeFilter()
        }
        #expect(receiver.chainProblems.isEmpty)
    }
}
