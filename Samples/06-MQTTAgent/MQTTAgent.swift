#if MQTT && SQLite
import Glibc
import KiiPush
import KiiPushDelivery
import KiiPushAgent
import KiiPushSystem
import KiiPushMQTT
import KiiPushSQLite

/// An agent: pushes go from a broker into an inbox on disk, and from there to typed handlers.
@main
struct MQTTAgent {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3 else {
            print("usage: MQTTAgent mqtt[s]://HOST[:PORT]/TOPIC STATE_DIRECTORY")
            return
        }
        let (address, directory) = (arguments[1], arguments[2])

        // What outlives the process: payloads on their way, what was handled, what was dead-lettered.
        let database = try SQLiteDatabase(directory: directory)
        let inbox = try SQLiteInbox(database)
        let seen = try SQLiteSeenStore(writtenBy: inbox)
        let receiver = PushReceiver(deadLetters: try SQLiteDeadLetterStore(writtenBy: inbox)) {
            Deduplicator(store: seen, secret: database.secret)
            LoopGuard()
            ScopeFilter()
        }
        addHandlers(to: receiver)

        // The broker knows the device by its client id, so it must stay the same and be no other device's.
        var settings = try MQTTSettings(address: address)
        settings.clientID = "mqtt-agent"
        let service = PushService(receiver, [try MQTTTransport(settings)], inbox: inbox)
        let manager = ServiceManager()
        service.onEvent { event in
            if case .transport(_, .connected(let detail)) = event { manager.status("connected: \(detail)") }
            if case .transport(_, .disconnected(let why, _)) = event { manager.status("not connected: \(why)") }
            say(JournalLine(event))
        }
        receiver.onTrace { trace in say(JournalLine(trace)) }

        let kills = KillFileWatch(KillFile(directory: directory), for: receiver.loopGuard ?? LoopGuard()) { trouble in
            say(JournalLine(.warning, "\(trouble)"))
        }
        let watching = Task { await kills.run() }
        defer { watching.cancel() }

        // SIGTERM: nothing more is taken in, the handlers finish, the rest stays in the inbox.
        let running = Task { try await service.run() }
        // Not once it is connected: the manager would end, again and again, who waits for a broker that is away.
        manager.ready()
        let signals = StopSignals {
            manager.stopping()
            running.cancel()
        }
        let left = try await running.value.left
        say(JournalLine(.information, "stopped; \(left) messages are left for the next start"))
        withExtendedLifetime(signals) {}
    }

    /// Prints a line at once, also where standard output is a file or a pipe.
    private static func say(_ line: some CustomStringConvertible & Sendable) {
        print(line)
        fflush(nil)
    }

    private static func addHandlers(to receiver: PushReceiver) {
        receiver.onPushToApp("settings", bucket: "settings", object: "*") { event, _ in
            say("object \(event.object.id) of bucket \(event.bucket.name) has changed")
        }
        receiver.onPushToUser("news", topic: "news") { message, _ in
            say("\(message.topic.name) says: \(message.data["text"]?.string ?? "nothing")")
        }
        // One that is tried more often, and holds nobody up meanwhile.
        var patient = DeliverySettings()
        patient.attempts = 20
        patient.onFailure = .skip
        receiver.onDirectPush("direct", options: RouteOptions(delivery: patient)) { message, context in
            say("attempt \(context.attempt): direct push: \(message.data["text"]?.string ?? "nothing")")
        }
    }
}

#else
@main
struct MQTTAgent {
    static func main() {
        print("MQTTAgent is built without its traits; build it with: swift build --traits MQTT,SQLite")
    }
}
#endif
