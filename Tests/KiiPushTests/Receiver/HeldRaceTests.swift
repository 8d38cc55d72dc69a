import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush

/// Everything at once: whatever the order, each message gets exactly one end.
@Suite(.timeLimit(.minutes(1)))
struct HeldRaceTests {
    @Test("what comes, follows, and is released, dropped and killed from many tasks ends once each", arguments: [1, 2])
    func storm(routes: Int) async throws {
        let storm = Storm(routes: routes)
        let (senders, each) = (4, 150)
        let isOver = Flag()
        let meddling = Task { await storm.meddle(until: isOver) }
        await withTaskGroup(of: Void.self) { group in
            for sender in 0..<senders { group.addTask { await storm.send(each, from: sender * each) } }
        }
        isOver.set()
        await meddling.value
        // What is left follows when the clock goes on.
        storm.loopGuard.revive(.route("r0"))
        for _ in 0..<100 where !storm.receiver.held.isEmpty {
            storm.clock.advance(by: .seconds(3600))
            await storm.receiver.handleDue()
        }
        #expect(storm.receiver.held.isEmpty)

        let messages = senders * each
        var ends: [String] = []
        for outcome in storm.outcomes.withLock({ $0 }) {
            if case .held(let held) = outcome {
                ends.append(try #require(await held.end()).name)
            } else {
                ends.append(outcome.name)
            }
        }
        #expect(ends.count == messages)
        for name in Set(ends) {
            #expect(storm.receiver.metrics.count(name) == ends.count { $0 == name }, "\(name)")
        }
        #expect(storm.receiver.metrics.received == messages)
        #expect(storm.receiver.metrics.count("held") == 0)
        let events = storm.store.log.events
        #expect(events.count { $0 == "fresh" } == messages)
        #expect(events.count { $0 == "commit" || $0 == "release" } == messages)
        // No handler got a message twice.
        #expect(storm.calls.withLock { $0.values.max() ?? 0 } == 1)
        #expect(storm.receiver.metrics.routes.allSatisfy { $0.failed == 0 })
        #expect(Set(ends).isSubset(of: ["handled", "looped", "deadLettered"]))
    }

    /// A receiver, those who send to it, and those who meddle.
    private final class Storm: Sendable {
        let clock = ManualClock()
        let store = SpyStore()
        let loopGuard: LoopGuard
        let receiver: PushReceiver
        let outcomes = Mutex<[Outcome]>([])
        /// How often each route's handler was called with each message.
        let calls = Mutex<[String: Int]>([:])

        init(routes: Int) {
            let (clock, store) = (clock, store)
            let rate = LoopRate(messages: 2, window: .milliseconds(10), coolDown: .milliseconds(20))
            let loopGuard = LoopGuard(settings: LoopSettings(rate: rate), clock: clock)
            self.loopGuard = loopGuard
            receiver = PushReceiver(clock: clock, deadLetters: InMemoryDeadLetterStore(capacity: 100_000)) {
                Deduplicator(store: store, secret: .published, clock: clock)
                loopGuard
            }
            for number in 0..<routes {
                receiver.onAny("r\(number)", options: .continue) { [weak self] message, context in
                    await Task.yield()
                    self?.calls.withLock { $0["\(context.route) \(message.sentAt ?? -1)", default: 0] += 1 }
                }
            }
        }

        func send(_ count: Int, from first: Int) async {
            for number in first..<first + count {
                let fixture = PayloadFixture.pushToApp(
                    object: "o\(number % 3)", sender: nil, sentAt: Int64(number), modifiedAt: nil)
                let outcome = await receiver.receive(fixture.payload(.long))
                outcomes.withLock { $0.append(outcome) }
                clock.advance(by: .milliseconds(1))
                await Task.yield()
            }
        }

        func meddle(until isOver: Flag) async {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        while !isOver.isSet {
                            await self.receiver.handleDue()
                            await Task.yield()
                        }
                    }
                }
                group.addTask {
                    while !isOver.isSet {
                        await self.receiver.releaseHeld { $0.id % 7 == 0 }
                        self.receiver.dropHeld { $0.id % 11 == 0 }
                        await Task.yield()
                    }
                }
                group.addTask {
                    while !isOver.isSet {
                        self.loopGuard.kill(.route("r0"), for: .milliseconds(1))
                        _ = (self.receiver.held, self.loopGuard.nextDue, self.receiver.metrics)
                        for _ in 0..<20 { await Task.yield() }
                    }
                }
            }
        }
    }
}
