import KiiPush
import KiiPushAgent
import Synchronization

struct DemoCommand: CommandWithOptions {
    static let description = Command(
        name: "demo", summary: "runs a receiver on payloads of every kind and shows the outcomes",
        about: ["It uses neither the network nor files, and ends by itself."],
        exits: [(.fine, "it has ended")])

    func run(_ console: Console) async -> ExitCode {
        await Demo(console).run()
        await LoopDemo(console).run()
        await DeliveryDemo(console).run()
        return .fine
    }
}

/// A receiver set up like an agent's, and the demo's messages for it.
private struct Demo {
    private let console: Console
    private let receiver: PushReceiver
    private let loopGuard: LoopGuard
    private let heard = Heard()

    /// The handlers' output for the current message.
    private final class Heard: Sendable {
        private let lines = Mutex<[String]>([])
        func say(_ line: String) { lines.withLock { $0.append(line) } }
        func takeAll() -> [String] {
            lines.withLock { lines in
                defer { lines = [] }
                return lines
            }
        }
    }

    init(_ console: Console) {
        self.console = console
        let loopGuard = LoopGuard(me: [.thing(id: DemoPayloads.ownThing)])
        self.loopGuard = loopGuard
        receiver = PushReceiver(app: DemoPayloads.app) {
            Deduplicator()
            loopGuard
            ScopeFilter(serving: [.app, .user("*"), .group("*"), .thing("th.*")])
        }
        register()
    }

    private func register() {
        receiver.onPushToApp(id: "objects", bucket: "*", object: "*") { [heard] event, _ in
            let what = event.type.map { "\($0)" } ?? "something happened"
            heard.say("object \(event.object.id) in bucket \(event.bucket.name) of \(event.scope): \(what)")
        }
        receiver.onPushToUser(id: "topics", topic: "*") { [heard] event, _ in
            let text = event.data["text"]?.string ?? event.message.alert?.body ?? "nothing"
            heard.say("topic \(event.topic.name) of \(event.scope), says: \(text)")
        }
        receiver.onDirectPush(id: "direct") { [heard] message, _ in
            if let command = message.command {
                let actions = command.actions.map { "\($0.alias.map { "\($0)." } ?? "")\($0.name)" }
                return heard.say("command \(command.id): \(actions.joined(separator: ", "))")
            }
            let sender = message.sender?.description ?? "an unknown sender"
            heard.say("from \(sender), says: \(message.data["text"]?.string ?? "nothing")")
        }
    }

    func run() async {
        console.print(
            """
            KiiPush demo: payloads of every kind through one receiver. Nothing leaves this process.
            It serves app \(DemoPayloads.app), is the thing \(DemoPayloads.ownThing), and every message passes
            \(receiver.middleware.joined(separator: " > ")).
            """)
        for step in DemoPayloads.steps {
            if let target = step.kills { loopGuard.kill(target, for: .seconds(3600)) }
            if let target = step.kills { console.print("\n    kill switch: '\(target)' is off for an hour") }
            console.print("\n\(step.title)")
            await send(step.payload)
        }
        printMetrics()
    }

    private func send(_ payload: RawPayload) async {
        if let message = try? PushMessage(payload) {
            let classification = message.classification
            let why = TextReport.reason(message, classification)
            console.print("    \(message.kind), \(message.certainty.rawValue): \(why)")
            for conflict in classification.conflicts {
                console.print("    conflict: \(conflict.name): \(conflict.reason)")
            }
        }
        let outcome = await receiver.receive(payload)
        for line in heard.takeAll() { console.print("    handler: \(escaped(line))") }
        console.print("    outcome: \(outcome), the transport's disposition: \(outcome.disposition.rawValue)")
        if case .undecodable(let error) = outcome { console.print("    \(error)") }
    }

    private func printMetrics() {
        let metrics = receiver.metrics
        console.print("\n\(metrics.received) messages, each with one outcome:")
        for count in metrics.outcomes where count.messages > 0 {
            let name = count.reason.map { "\(count.outcome) (\($0))" } ?? count.outcome
            console.print("    \(name.padded(to: 32)) \(count.messages)")
        }
    }
}
