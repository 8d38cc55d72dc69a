import Glibc
import KiiPush
import KiiPushRules
import KiiPushSystem
import KiiPushTesting
import Testing

@testable import KiiPushAgent
@testable import KiiPushTestSupport

/// Rules that change under a running receiver, as files on a disk.
@Suite(.timeLimit(.minutes(5)))
struct RulesWatchTests {
    private static func rules(_ id: String, handler: String = "note") -> [UInt8] {
        let text = """
            {"version":1,"rules":[{"id":"\(id)","when":{"bucket":"settings"},"then":{"handler":"\(handler)"}}],
             "tests":[{"name":"t","steps":[{"payload":{"bucketID":"settings","objectScopeType":"APP","when":1},
               "expect":{"outcome":"handled","rules":["\(id)"]}}]}]}
            """
        return Array(text.utf8)
    }

    @Test("loads a file that passes its tests, and reports one that does not, or that is no file")
    func changes() async throws {
        let directory = try Folder()
        let path = directory["rules.json"]
        let receiver = PushReceiver(clock: ManualClock())
        receiver.register("note") { _, _ in }
        let updates = EventLog()
        let watch = RulesWatch(path: path, gate: RulesGate(receiver)) { updates.add("\($0)") }

        // What a deployment does: a new file beside the old one, put into its place.
        func deploy(_ bytes: [UInt8]) throws {
            let new = try directory.write(bytes, to: "rules.new")
            #expect(unsafe rename(new, path) == 0)
        }
        func routes() -> [String] { receiver.routes.map(\.id) }
        func update() async -> String? {
            guard watch.hasChanged() else { return nil }
            await watch.look()
            return watch.hasChanged() ? nil : updates.events.last
        }

        #expect(await update()?.hasPrefix("\(path):1:1: ") == true && routes().isEmpty)
        try deploy(Self.rules("first"))
        #expect(await update() == "\(path): 1 rule, generation 1" && routes() == ["first"])
        try deploy(Self.rules("second", handler: "nobody"))
        #expect(await update()?.contains("unknown handler 'nobody'") == true && routes() == ["first"])
        try deploy(Self.rules("second").dropLast(9).map { $0 })
        #expect(await update()?.hasPrefix("\(path):3:") == true && routes() == ["first"])
        #expect(unsafe mkfifo(directory["pipe"], 0o600) == 0 && rename(directory["pipe"], path) == 0)
        #expect(await update() == "\(path):1:1: cannot be read: not a regular file")
        #expect(unsafe unlink(path) == 0)
        #expect(await update()?.hasPrefix("\(path):1:1: ") == true && routes() == ["first"])
        try deploy(Self.rules("second"))
        #expect(await update() == "\(path): 1 rule, generation 2" && routes() == ["second"])
        #expect(updates.events.count == 7)
    }

    @Test("a file's problems have its path, and a missing or too large file is a read error")
    func unreadable() throws {
        let directory = try Folder()
        let broken = try directory.write("{\"version\":1,\n\"rules\":7}", to: "rules.json")
        let error = #expect(throws: RulesError.self) { try RoutingRules(contentsOf: broken) }
        #expect(error?.description == "\(broken):2:9: expected a list of rules, found a number")
        #expect(throws: ReadError.self) { try RoutingRules(contentsOf: directory["none.json"]) }
        let path = try directory.write([0x7B], to: "large.json", size: RoutingRules.mostBytes + 1)
        #expect(throws: ReadError.tooLarge(name: path, limit: RoutingRules.mostBytes)) {
            try RoutingRules(contentsOf: path)
        }
    }

    @Test("a file that another user can change, itself or by a folder of its path, is told with how to mend it")
    func exposure() throws {
        let directory = try Folder()
        try directory.makeFolder("etc")
        let file = resolved(try directory.write("{}", to: "etc/rules.json"))
        let folder = directoryName(file)
        try directory.link("link.json", to: file)
        func found(_ fileMode: mode_t, _ folderMode: mode_t) throws -> String? {
            try #require(unsafe chmod(file, fileMode) == 0 && chmod(folder, folderMode) == 0)
            return RulesExposure(of: directory["link.json"])?.description
        }
        // With the sticky bit, nobody replaces a file of somebody else.
        for modes in [(0o644, 0o755), (0o664, 0o775), (0o600, 0o1777)] as [(mode_t, mode_t)] {
            #expect(try found(modes.0, modes.1) == nil)
        }
        let what = "can change the rules, which can run programs; run"
        #expect(try found(0o646, 0o777) == "\(file): every user (mode 0646) \(what) 'chmod o-w \(file)'")
        #expect(try found(0o644, 0o707) == "\(folder): every user (mode 0707) \(what) 'chmod o-w \(folder)'")
        #expect(RulesExposure(of: directory["none.json"]) == nil)
        guard geteuid() == 0 else { return }
        try #require(unsafe chown(folder, 65_534, 65_534) == 0)
        #expect(try found(0o644, 0o755) == "\(folder): its owner, user 65534, \(what) 'chown root \(folder)'")
    }
}
