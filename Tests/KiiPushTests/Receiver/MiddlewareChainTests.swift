import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct MiddlewareChainTests {
    let log = EventLog()
    let payload = PayloadFixture.pushToApp().payload(.long)

    /// Sends a message through a chain and settles it.
    private func run(_ chain: CompiledChain) throws -> (verdict: Verdict, passed: Int) {
        var message = try RoutedMessage(payload)
        var passed = 0
        let verdict = try chain.admit(&message, &passed)
        chain.settle(message, .handled(MatchedRoutes()), passed)
        return (verdict, passed)
    }

    // MARK: The builder

    @Test("an empty chain passes everything")
    func empty() throws {
        let chain = makeChain {}
        #expect(chain.names.isEmpty)
        #expect(try run(chain) == (.pass, 0))
    }

    @Test("stages are asked in order and told in reverse order")
    func order() throws {
        let chain = makeChain {
            Probe("a", log)
            for name in ["b", "c"] { Probe(name, log) }
            Probe("d", log)
        }
        #expect(chain.names == ["a", "b", "c", "d"])
        #expect(try run(chain) == (.pass, 4))
        #expect(
            log.events == [
                "admit a", "admit b", "admit c", "admit d",
                "settle d: handled", "settle c: handled", "settle b: handled", "settle a: handled",
            ])
    }

    @Test("an `if` adds its stage when the condition holds", arguments: [true, false])
    func optional(isThere: Bool) throws {
        let chain = makeChain {
            Probe("a", log)
            if isThere { Probe("b", log) }
            Probe("c", log)
        }
        let names = isThere ? ["a", "b", "c"] : ["a", "c"]
        #expect(chain.names == names)
        #expect(try run(chain) == (.pass, names.count))
        let settled = names.reversed().map { "settle \($0): handled" }
        #expect(log.events == names.map { "admit \($0)" } + settled)
    }

    @Test("if and else may hold stages of different types, and different numbers of them", arguments: [true, false])
    func either(isFirst: Bool) throws {
        let chain = makeChain {
            if isFirst {
                ScopeFilter()
                Probe("a", log)
            } else {
                Nameless(log: log)
            }
            Probe("z", log)
        }
        #expect(chain.names == (isFirst ? ["ScopeFilter", "a", "z"] : ["Nameless", "z"]))
        #expect(try run(chain) == (.pass, isFirst ? 3 : 2))
    }

    @Test("a switch may hold a different type in each case", arguments: [0, 1, 2, 3])
    func switched(which: Int) throws {
        let chain = makeChain {
            switch which {
            case 0: Probe("zero", log)
            case 1: Nameless(log: log)
            case 2:
                LoopGuard()
                ScopeFilter()
            default: if false { Probe("never", log) }
            }
        }
        #expect(chain.names == [["zero"], ["Nameless"], ["LoopGuard", "ScopeFilter"], []][which])
        #expect(try run(chain) == (.pass, chain.names.count))
    }

    // MARK: Who is told

    /// Six stages in a chain of every shape, where the stage with a number answers as it is told.
    private func sixStages(_ number: Int, _ answer: @escaping @Sendable () throws -> Verdict) -> CompiledChain {
        func stage(_ index: Int) -> Probe {
            index == number ? Probe("\(index)", log, answer: answer) : Probe("\(index)", log)
        }
        let yes = [true][0]
        return makeChain {
            stage(0)
            if yes {
                stage(1)
                stage(2)
            }
            if !yes { stage(9) }
            if !yes {
                stage(9)
            } else {
                stage(3)
                if yes { stage(4) }
            }
            stage(5)
        }
    }

    @Test("when a stage drops a message, only the stages before it are told, last first", arguments: 0..<6)
    func dropped(at number: Int) throws {
        let chain = sixStages(number) { .refuse("test") }
        #expect(try run(chain) == (.refuse("test"), number))
        let admitted = (0...number).map { "admit \($0)" }
        let settled = (0..<number).reversed().map { "settle \($0): handled" }
        #expect(log.events == admitted + settled)
    }

    @Test("when a stage throws, the stages before it are told, and the error names it", arguments: 0..<6)
    func thrown(at number: Int) throws {
        let chain = sixStages(number) { throw TestError() }
        var message = try RoutedMessage(payload)
        var passed = 0
        let failure = #expect(throws: StageFailure.self) { try chain.admit(&message, &passed) }
        #expect(failure?.stage == "\(number)")
        #expect(failure?.underlying is TestError)
        #expect(passed == number)
        chain.settle(message, .unrouted(.noRoute), passed)
        #expect(log.events.filter { $0.hasPrefix("settle") }.count == number)
    }

    // MARK: What a stage need not say

    @Test("by default a stage has its type's name and no state")
    func defaults() throws {
        let chain = makeChain { Nameless(log: log) }
        #expect(chain.names == ["Nameless"])
        _ = try run(chain)
        #expect(log.events == ["admit Nameless"])
    }

    @Test("a stage can change the message for later stages")
    func passedOn() throws {
        let chain = makeChain {
            StopAll()
            SeesNoRoutes(log: log)
        }
        var message = try RoutedMessage(payload, routes: [Route("one"), Route("two")])
        var passed = 0
        _ = try chain.admit(&message, &passed)
        #expect(log.events == ["routes: 0"])
        #expect(message.routes.isEmpty)
    }

    private struct Nameless: Middleware {
        let log: EventLog
        func admit(_ message: inout RoutedMessage) -> Verdict {
            log.add("admit \(name)")
            return .pass
        }
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
