import Glibc
import KiiPush
import KiiPushContracts
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushAgent
@testable import KiiPushTestSupport

/// Writes that programs announce on their standard output.
struct ProgramWritesTests {
    let folder: Folder

    init() throws { folder = try Folder() }

    @Test("drops an announced write's event only if the program succeeded")
    func announced() async {
        let line = "echo 'write kiicloud://buckets/b/objects/o '"
        let succeeded = ActionRun("\(line); exit 0")
        #expect(await succeeded.receive() == "handled")
        #expect(await succeeded.receiveEvent(of: "o") == "looped (echo)")
        let failed = ActionRun("\(line); exit 1")
        #expect(await failed.receive() == "failed (r)")
        #expect(await failed.receiveEvent(of: "o") == "failed (r)")
    }

    @Test("an announced deletion drops the event of a deletion, and a write that of an update")
    func deletion() async {
        for (verb, event) in [("delete", KiiEvent.objectDeleted), ("write", .objectUpdated)] {
            let run = ActionRun("echo \(verb) kiicloud://buckets/b/objects/o")
            #expect(await run.receive() == "handled")
            #expect(run.log.isEmpty)
            for other in [KiiEvent.objectDeleted, .objectUpdated] where other != event {
                #expect(await run.receiveEvent(of: "o", other) == "handled")
            }
            #expect(await run.receiveEvent(of: "o", event) == "looped (echo)")
        }
        let bucket = ActionRun("echo delete kiicloud://buckets/b")
        #expect(await bucket.receive() == "handled")
        #expect(bucket.log == ["sh: the announcement is not a URI of an object; a line is: delete kiicloud://…"])
    }

    @Test("a write counts as announced at once, while the program runs", .timeLimit(.minutes(5)))
    func atOnce() async throws {
        #expect(unsafe mkfifo(folder["go"], 0o600) == 0)
        let run = ActionRun(
            "echo write kiicloud://0123abcd/buckets/b/objects/o; echo announced; read line <\(folder["go"])")
        let task = Task { await run.receive() }
        #expect(await comes { run.log == ["sh: announced"] })
        #expect(await run.receiveEvent(of: "o") == "looped (echo)")
        try folder.write("go\n", to: "go")
        #expect(await task.value == "handled")
    }

    @Test("ignores other lines, and reports near misses")
    func noAnnouncement() async {
        let lines = [
            "write kiicloud://other/buckets/b/objects/o", "write kiicloud://topics/t", "write kiicloud://buckets/b",
            " write kiicloud://buckets/b/objects/o", "write  kiicloud://buckets/b/objects/o", "write kiicloud://",
            "write to disk",
        ]
        // On standard error it is no announcement either.
        let script = lines.map { "echo '\($0)'" }.joined(separator: ";")
        let run = ActionRun("\(script); echo write kiicloud://buckets/b/objects/o >&2")
        #expect(await run.receive() == "handled")
        #expect(await run.receiveEvent(of: "o") == "handled")
        let complaint = "sh: the announcement is not a URI of an object or a bucket; a line is: write kiicloud://…"
        #expect(run.log.filter { $0 == complaint }.count == 4)
        #expect(run.log.contains("sh: write to disk"))
    }

    @Test("a write to the route's own bucket is a risk, and where the route refuses it the program is ended")
    func refused() async throws {
        for uri in ["kiicloud://buckets/settings/objects/o", "kiicloud://buckets/settings"] {
            let warned = ActionRun("echo write \(uri)")
            let risks = EventLog()
            warned.loopGuard.onRisk { risks.add($0.cause.rawValue) }
            #expect(await warned.receive() == "handled")
            #expect(risks.events == ["sameBucket"])
            let refused = ActionRun("echo write \(uri); exec sleep 1000", ownBucket: .refuse)
            #expect(await refused.receive() == "looped (ownBucket)")
            let atTheEnd = ActionRun("printf 'write \(uri)'", ownBucket: .refuse)
            #expect(await atTheEnd.receive() == "looped (ownBucket)")
        }
    }

    @Test("announces the first thousand writes, and says so")
    func many() async {
        let run = ActionRun("for i in $(seq 1 1002); do echo write kiicloud://buckets/b/objects/$i; done")
        #expect(await run.receive() == "handled")
        #expect(run.log == ["sh: more than 1000 writes cannot be announced"])
        #expect(await run.receiveEvent(of: "1000") == "looped (echo)")
        #expect(await run.receiveEvent(of: "1001") == "handled")
    }
}

/// A receiver whose one route runs a program by its actions, and what came of it.
final class ActionRun: Sendable {
    let receiver: PushReceiver
    let loopGuard: LoopGuard
    private let errors = Mutex<[any Error]>([])
    private let lines = Mutex<[(text: String, isNote: Bool)]>([])

    /// Runs a script by a shell; `ownBucket` is what the route does about writes to its own bucket.
    convenience init(_ script: String, ownBucket: RouteOptions.OwnBucket = .warn, grace: Duration = .seconds(3600)) {
        self.init(["/bin/sh", "-c", script], ownBucket: ownBucket, grace: grace)
    }

    init(_ vector: [String], ownBucket: RouteOptions.OwnBucket = .warn, grace: Duration = .seconds(3600)) {
        // It stands still: the event of an announced write is expected for ten seconds, and a loaded machine takes
        // longer.
        let clock = ManualClock()
        let loopGuard = LoopGuard(clock: clock)
        self.loopGuard = loopGuard
        receiver = PushReceiver(app: "0123abcd", clock: clock) { loopGuard }
        let actions = ProgramActions(
            app: "0123abcd", grace: grace,
            note: { [weak self] line in self?.lines.withLock { $0.append((line, true)) } },
            log: { [weak self] line in self?.lines.withLock { $0.append((line, false)) } })
        receiver.onAny(id: "r", options: RouteOptions(ownBucket: ownBucket)) {
            [weak self] message, context in
            do { try await actions.run(vector, for: message, context) } catch {
                self?.errors.withLock { $0.append(error) }
                throw error
            }
        }
    }

    var wholeLog: [String] { lines.withLock { $0.map(\.text) } }

    var log: [String] { wholeLog.map { Self.words($0) } }

    /// What of that was no trouble.
    var notes: [String] { lines.withLock { $0.filter(\.isNote).map { Self.words($0.text) } } }

    private static func words(_ line: String) -> String {
        line.split(separator: ": ", maxSplits: 1).last.map { String($0) } ?? line
    }

    /// What the program's failure was; nil when it succeeded.
    var error: ProgramError? { errors.withLock { $0.last } as? ProgramError }

    /// Receives a Push to App; how it ended.
    func receive(_ payload: RawPayload = PayloadFixture.pushToApp().payload(.long)) async -> String {
        "\(await receiver.receive(payload))"
    }

    /// Receives the event of a write to an object of the bucket `b`; how it ended.
    func receiveEvent(of object: String, _ event: KiiEvent = .objectUpdated) async -> String {
        let fixture = PayloadFixture.pushToApp(bucket: "b", object: object, event: event, sender: nil, sentAt: 7)
        return await receive(fixture.payload(.long))
    }
}

func isRunning(_ process: pid_t) -> Bool { kill(process, 0) == 0 || errno != ESRCH }
