import Glibc
import KiiPush
import KiiPushAgent
import KiiPushTesting
import Synchronization

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
        receiver.onAny("r", options: RouteOptions(ownBucket: ownBucket)) {
            [weak self] message, context in
            do { try await actions.run(vector, for: message, context) } catch {
                self?.errors.withLock { $0.append(error) }
                throw error
            }
        }
    }

    /// What the program said, for the log.
    var wholeLog: [String] { lines.withLock { $0.map(\.text) } }

    /// The same, without the message's number.
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

/// Whether there is a process with this id.
func isRunning(_ process: pid_t) -> Bool { kill(process, 0) == 0 || errno != ESRCH }
