import Glibc
import KiiPush
import KiiPushContracts
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
