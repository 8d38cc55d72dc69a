import Dispatch
import Glibc
import KiiPush
import KiiPushDelivery
import KiiPushAgent
import KiiPushSystem
import KiiPushMQTT
import KiiPushSQLite

/// An agent made of the library's types, as a program of a user's, but for what is planted in it.
struct FaultyAgent {
    var port = 0
    var topic = "push"
    var state = ""
    var book = "/dev/null"
    var service = ServiceSettings.standard
    var isInMemory = false
    /// Whether it answers commands, and takes other messages of several topics.
    var answers = false
    /// Whether it begins an encrypted link, with the system's certificates.
    var usesTLS = false
    /// Each handler takes so long, in milliseconds.
    var pause = 0
    /// Each message whose number is a multiple of it fails, however often it is tried.
    var failing: Int?
    /// The message that ends the process, each time it is handled.
    var deadly: Int?
    var deaths: Deaths

    init(_ arguments: [String]) throws {
        deaths = try Deaths(nil)
        let flags: [String: WritableKeyPath<FaultyAgent, Bool>] = [
            "--memory": \.isInMemory, "--answers": \.answers, "--tls": \.usesTLS,
        ]
        var rest = arguments[...]
        while let option = rest.popFirst() {
            if let flag = flags[option] {
                self[keyPath: flag] = true
                continue
            }
            guard let value = rest.popFirst() else { throw Trouble("\(option) needs a value") }
            switch option {
            case "--port": port = Int(value) ?? 0
            case "--topic": topic = value
            case "--state": state = value
            case "--book": book = value
            case "--concurrency": service.concurrency = Int(value) ?? 8
            case "--pause": pause = Int(value) ?? 0
            case "--failing": failing = Int(value)
            case "--deadly": deadly = Int(value)
            case "--die": deaths = try Deaths(value)
            default: throw Trouble("the agent knows no \(option)")
            }
        }
    }

    /// Receives until SIGTERM.
    func run() async throws {
        let database = try SQLiteDatabase(directory: state)
        let inbox = try SQLiteInbox(database)
        let seen = try SQLiteSeenStore(writtenBy: inbox)
        let letters = DeadlyLetters(store: try SQLiteDeadLetterStore(writtenBy: inbox), deaths: deaths)
        let receiver = PushReceiver(deadLetters: letters) {
            Deduplicator(store: seen, secret: database.secret)
            // So many messages at once would have to wait for their pace.
            LoopGuard(settings: LoopSettings.standard.without(.pace))
            ScopeFilter()
        }
        try answers ? AnsweredCommands.handle(receiver, book, deaths) : handle(receiver)
        let transport = try MQTTTransport(link)
        let service = PushService(
            receiver, [transport],
            inbox: isInMemory ? InMemoryInbox() : DeadlyInbox(inbox: inbox, deaths: deaths), settings: wide,
            delivery: delivery)
        service.onEvent { complain("\($0)") }
        if deaths.countsAcknowledgements { watch(transport) }
        let run = Task { try await service.run() }
        let signals = StopSignals { run.cancel() }
        let report = try await run.value
        withExtendedLifetime(signals) {}
        complain("stopped: \(report.finished) finished, \(report.cancelled) cancelled, \(report.left) left")
        complain("\(receiver.metrics)")
    }

    /// The same as an embedded agent has it: with nothing planted in the stores.
    func runEmbedded() async throws {
        var settings = AgentSettings()
        (settings.service, settings.delivery) = (wide, delivery)
        let agent = try PushAgent(
            loop: LoopSettings.standard.without(.pace), state: .directory(state), settings: settings)
        try handle(agent)
        try await agent.run(.mqtt(link))
    }

    /// All are of one bucket, and each is to be handled: at the shares of a bucket newer changes would replace older
    /// ones.
    private var wide: ServiceSettings {
        var settings = service
        settings.messagesOnDisk = 1_000_000
        settings.bytesOnDisk = 1 << 30
        return settings
    }

    private var link: MQTTSettings {
        var link = MQTTSettings(host: "127.0.0.1", port: port, topic: topic, usesTLS: usesTLS)
        link.clientID = topic
        link.keepAlive = 5
        link.backoff = .milliseconds(50)
        link.maxBackoff = .seconds(1)
        guard answers else { return link }
        (link.version, link.risksMQTT5) = (.v5, true)
        link.subscriptions = AnsweredCommands.filters.map { .init($0) }
        return link
    }

    private var delivery: DeliverySettings {
        var delivery = DeliverySettings()
        delivery.attempts = 2
        delivery.backoff = .milliseconds(1)
        return delivery
    }

    private func handle(_ receiver: some HandlerRegistry) throws {
        let book = try BookWriter(book)
        receiver.onPushToApp(id: "book", bucket: TextPattern(NumberedMessage.bucket)) {
            [deaths, pause, failing, deadly] event, _ in
            let number = NumberedMessage.number(sentAt: event.message.sentAt ?? 0)
            deaths.pass(.inHandler)
            if number == deadly { kill(getpid(), SIGKILL) }
            if pause > 0 { try await Task.sleep(for: .milliseconds(pause)) }
            if let failing, number % failing == 0 { throw HandlerFailure() }
            try book.add("\(number)")
            deaths.pass(.afterHandler)
        }
    }

    /// Dies as soon as the acknowledgements have been written that it is to die after.
    private func watch(_ transport: MQTTTransport) {
        DispatchQueue(label: "watch").async { [deaths] in
            while true { deaths.acknowledged(transport.counts.taken) }
        }
    }
}

/// A handler that does not do its work.
struct HandlerFailure: Error {}
