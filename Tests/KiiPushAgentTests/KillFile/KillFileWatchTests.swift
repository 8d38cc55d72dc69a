import Glibc
import KiiPush
import KiiPushContracts
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport

/// A wall clock that a test sets, and a list of what was reported.
private final class Scene: Sendable {
    private let time: Mutex<UTCDate>
    private let list = Mutex<[String]>([])

    init(_ text: String) throws { time = Mutex(try #require(UTCDate(text))) }

    var now: UTCDate { time.withLock { $0 } }
    func set(_ text: String) throws {
        let date = try #require(UTCDate(text))
        time.withLock { $0 = date }
    }

    func report(_ trouble: String) { list.withLock { $0.append(trouble) } }
    func takeReports() -> [String] {
        list.withLock { list in
            defer { list = [] }
            return list
        }
    }
}

@Suite("KillFileWatch", .timeLimit(.minutes(5)))
struct KillFileWatchTests {
    private let folder: Folder
    private let scene: Scene
    private let clock = ManualClock()
    private let loopGuard: LoopGuard
    private let watch: KillFileWatch

    init() throws {
        folder = try Folder()
        let scene = try Scene("2026-11-21T12:00:00Z")
        self.scene = scene
        loopGuard = LoopGuard(clock: clock)
        watch = KillFileWatch(
            KillFile(directory: folder.path), for: loopGuard, wallClock: { scene.now }, report: scene.report)
    }

    private func write(_ kills: (target: String, until: String)...) throws {
        let entries = kills.map { #"{"target":"\#($0.target)","until":"\#($0.until)"}"# }
        try folder.replace("kill.json", with: #"{"version":1,"kills":[\#(entries.joined(separator: ","))]}"#)
    }

    // MARK: Following the file

    @Test("targets are off while the file lists them")
    func follow() throws {
        try write(("a", "2026-11-21T12:01:00Z"), ("*", "2026-11-21T12:00:30Z"), ("old", "2026-11-21T12:00:00Z"))
        watch.look()
        #expect(
            loopGuard.killedUntil.mapValues(\.nanoseconds) == [
                .route("a"): 60_000_000_000, .everything: 30_000_000_000,
            ])
        try write(("b", "2026-11-21T12:01:00Z"))
        watch.look()
        #expect(loopGuard.killed == [.route("b")])
        try folder.remove("kill.json")
        watch.look()
        #expect(loopGuard.killed.isEmpty)
        #expect(scene.takeReports().isEmpty)
    }

    @Test("code's kills stay, and the file's override a revive by code")
    func beside() throws {
        loopGuard.kill(.route("code"), for: .seconds(60))
        try write(("file", "2026-11-21T12:01:00Z"))
        watch.look()
        loopGuard.revive(.route("file"))
        #expect(loopGuard.killed == [.route("code")])
        watch.look()
        #expect(loopGuard.killed == [.route("code"), .route("file")])
        try folder.remove("kill.json")
        watch.look()
        #expect(loopGuard.killed == [.route("code")])
    }

    // MARK: The wall clock

    @Test("follows clock jumps in both directions at the next check")
    func jumps() throws {
        try scene.set("1970-01-01T00:00:07Z")
        try write(("a", "2026-11-21T12:01:00Z"), ("b", "2026-11-21T11:00:00Z"))
        watch.look()
        // Before the device knows the time nothing is over.
        #expect(loopGuard.killed == [.route("a"), .route("b")])
        try scene.set("2026-11-21T12:00:00Z")
        watch.look()
        #expect(loopGuard.killedUntil.mapValues(\.nanoseconds) == [.route("a"): 60_000_000_000])
        try scene.set("2031-01-01T00:00:00Z")
        watch.look()
        #expect(loopGuard.killed.isEmpty)
        try scene.set("2026-11-21T12:00:30Z")
        watch.look()
        #expect(loopGuard.killedUntil.mapValues(\.nanoseconds) == [.route("a"): 30_000_000_000])
    }

    @Test("accepts the longest possible kill")
    func extremes() throws {
        try scene.set("0001-01-01T00:00:00Z")
        try write(("a", "9999-12-31T23:59:59.999Z"))
        watch.look()
        #expect(loopGuard.killed == [.route("a")])
    }

    // MARK: Trouble

    /// Ways to spoil a file, and how the report of it begins.
    private static let spoiled: [(report: String, spoil: @Sendable (Folder) throws -> Void)] = [
        ("kill.json:1:2: the text ends ", { try $0.write("{", to: "kill.json") }),
        (
            "kill.json: cannot be read: not a regular file",
            {
                try $0.remove("kill.json")
                try $0.makeFolder("kill.json")
            }
        ),
        (
            "kill.json: larger than 65536 bytes",
            { try $0.replace("kill.json", with: String(repeating: " ", count: 65_537)) }
        ),
    ]

    @Test("keeps the last list while the file is unreadable, and reports that once", arguments: spoiled.indices)
    func unreadable(index: Int) throws {
        try write(("a", "2026-11-21T12:01:00Z"))
        watch.look()
        try Self.spoiled[index].spoil(folder)
        watch.look()
        for _ in 0..<3 { watch.look() }
        #expect(loopGuard.killed == [.route("a")])
        let report = "\(folder.path)/\(Self.spoiled[index].report)"
        #expect(scene.takeReports().map { $0.hasPrefix(report) } == [true])
        // Its kills end at their times all the same.
        try scene.set("2026-11-21T12:01:00Z")
        watch.look()
        #expect(loopGuard.killed.isEmpty && scene.takeReports().isEmpty)
        try folder.remove("kill.json")
        try write(("b", "2026-11-21T12:02:00Z"))
        watch.look()
        #expect(loopGuard.killed == [.route("b")] && scene.takeReports().isEmpty)
    }

    @Test("bad entries are reported once for each change, and the good ones count")
    func badEntries() throws {
        try write(("a", "2026-11-21T12:01:00Z"), ("kiicloud://users/U", "2026-11-21T12:01:00Z"), ("c", "soon"))
        watch.look()
        watch.look()
        #expect(loopGuard.killed == [.route("a")])
        #expect(scene.takeReports().count == 2)
        try write(("b", "2026-11-21T12:01:00Z"), ("c", "soon"))
        watch.look()
        watch.look()
        #expect(loopGuard.killed == [.route("b")])
        #expect(
            scene.takeReports() == [
                #"\#(folder.path)/kill.json:1:91: expected a time such as "2026-11-21T12:00:00Z", found 'soon'"#
            ])
    }
}
