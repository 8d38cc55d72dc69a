#if SQLite
import Foundation
import KiiPush
import KiiPushTesting
import Testing

@testable import KiiPushSQLite

/// What breakers are open after the process that opened them was killed at any moment.
@Suite(.serialized)
struct BreakerKillTests {
    @Test("a breaker whose message was said to be held when a process is killed is open for the next one")
    func kills() async throws {
        let folder = try StateFolder()
        let kills = ProcessInfo.processInfo.environment["KIIPUSH_LONG"] == nil ? 30 : 500
        var held = 0
        for run in 1...kills {
            let directory = folder.next()
            let delay = Int.random(in: 0...40_000)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [directory = directory as String, delay = delay as Int] in
                try await Looping(directory: directory).work(microseconds: delay)
            }
            held += try await Looping(directory: directory).check("run \(run), killed after \(delay) µs")
        }
        // Not all were killed before they had done anything.
        #expect(held > kills / 2)
    }
}

/// A process with a loop for each object, one after the other, until it is killed.
private struct Looping {
    let directory: String

    private var log: String { "\(directory).log" }

    private func payload(_ object: Int) -> RawPayload {
        // Few objects a bucket, so that none opens as a whole.
        PayloadFixture.pushToApp(bucket: "b-\(object / 50)", object: "o-\(object)").payload(.long)
    }

    private func receiver() throws -> PushReceiver {
        let store = try SQLiteBreakerStore(try SQLiteDatabase(directory: directory))
        // Times that a process which has to wait for a busy machine keeps.
        let rate = LoopRate(messages: 2, window: .seconds(600), coolDown: .seconds(3600))
        let receiver = PushReceiver { LoopGuard(settings: LoopSettings(rate: rate), breakers: store) }
        receiver.onPushToApp { _, _ in }
        return receiver
    }

    func work(microseconds: Int) async throws {
        let file = unsafe open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        let receiver = try receiver()
        let killer = Thread {
            usleep(UInt32(microseconds))
            kill(getpid(), SIGKILL)
        }
        killer.start()
        for object in 0... {
            for _ in 0..<2 { _ = await receiver.receive(payload(object)) }
            guard await receiver.receive(payload(object)).name == "held" else { continue }
            // What was written is the kernel's, so that a kill takes nothing of it.
            _ = unsafe write(file, "x", 1)
            receiver.dropHeld()
        }
    }

    /// Whether all that were said to be held are held at once; how many there were.
    func check(_ run: String) async throws -> Int {
        let held = (try? Data(contentsOf: URL(filePath: log)).count) ?? 0
        let receiver = try receiver()
        var forgotten: [Int] = []
        for object in 0..<held where await receiver.receive(payload(object)).name != "held" { forgotten.append(object) }
        #expect(forgotten.isEmpty, "\(run)")
        // The one after the next had not its messages yet.
        #expect(await receiver.receive(payload(held + 1)).name == "handled", "\(run)")
        return held
    }
}
#endif
