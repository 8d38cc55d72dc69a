import KiiPush
import KiiPushRules
import KiiPushAgent
import KiiPushSystem
import Testing

@testable import KiiPushTestSupport

/// Rules from files.
struct RulesFileTests {
    private let directory: Folder

    init() throws { directory = try Folder() }

    @Test("a rules file is read from the disk")
    func read() throws {
        let text = #"{"version":1,"rules":[{"id":"a","then":{"print":true}}]}"#
        let path = try directory.write(Array(text.utf8), to: "rules.json")
        let rules = try RoutingRules(contentsOf: path)
        #expect(rules.rules.map(\.id) == ["a"] && rules.file == path)
    }

    @Test("problems are reported under the file's path")
    func problems() throws {
        let path = try directory.write(Array("{\"version\":1,\n\"rules\":7}".utf8), to: "rules.json")
        let error = #expect(throws: RulesError.self) { try RoutingRules(contentsOf: path) }
        #expect(error?.description == "\(path):2:9: expected a list of rules, found a number")
    }

    @Test("a missing or too large file is a read error")
    func unreadable() throws {
        #expect(throws: ReadError.self) { try RoutingRules(contentsOf: "\(directory.path)/none.json") }
        let path = try directory.write([0x7B], to: "large.json", size: RoutingRules.mostBytes + 1)
        #expect(throws: ReadError.tooLarge(name: path, limit: RoutingRules.mostBytes)) {
            try RoutingRules(contentsOf: path)
        }
    }
}
