import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// The index against a plain scan of all routes, over random routes and messages.
struct RouteTablePropertyTests {
    @Test("the index finds exactly what a scan of all routes finds", arguments: 0..<40)
    func smallTables(seed: UInt64) throws {
        var source = RandomRouting(seed: seed)
        for _ in 0..<10 { try compare(routes: source.count(in: 0...40), messages: 25, &source) }
    }

    @Test("the index finds routes among thousands", arguments: 100..<103)
    func largeTables(seed: UInt64) throws {
        var source = RandomRouting(seed: seed)
        try compare(routes: 3000, messages: 60, &source)
    }

    private func compare(routes count: Int, messages: Int, _ source: inout RandomRouting) throws {
        let specs = (0..<count).map { _ in source.route() }
        let table = RouteTable(
            specs.enumerated().map { number, spec in
                Route("\(number)", flow: spec.flow, criteria: spec.criteria)
            })
        for _ in 0..<messages {
            let message = try PushMessage(source.payload())
            let found = table.match(message.storage)
            let expected = scan(specs, message)
            #expect(found.routes.ids == expected.ids.map(String.init))
            if expected.ids.isEmpty { #expect(found.isTooAmbiguous == expected.isTooAmbiguous) }
        }
    }

    private func scan(_ specs: [RouteSpec], _ message: PushMessage) -> (ids: [Int], isTooAmbiguous: Bool) {
        var ids: [Int] = []
        var isTooAmbiguous = false
        for (number, spec) in specs.enumerated() where spec.takes(message) {
            guard spec.certainty.contains(message.certainty) else {
                if message.certainty == .ambiguous { isTooAmbiguous = true }
                continue
            }
            ids.append(number)
            if spec.flow == .stop { break }
        }
        return (ids, isTooAmbiguous)
    }
}
