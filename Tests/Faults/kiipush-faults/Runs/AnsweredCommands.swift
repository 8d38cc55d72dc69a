import Glibc
import KiiPush
import KiiPushDelivery
import KiiPushAgent
import KiiPushMQTT
import Synchronization

/// Kills an agent at every step, and restarts its broker, while commands and other messages come over fifty topics by
/// three filters: each command gets one answer, and each message is handled by its route, in the order of its topic.
struct AnsweredCommands {
    let isLong: Bool

    /// Every tenth message is a command.
    private var messages: Int { isLong ? 10_000 : 1300 }
    private var kills: Int { isLong ? 100 : 26 }

    static let filters = ["cmd/+/set", "log/#", "plain"]
    private static let commandEvery = 10

    /// The topic of a message: ten of commands, 39 of logs, and one more.
    private static func topic(of number: Int) -> String {
        if number % commandEvery == 0 { return "cmd/\(number / commandEvery % 10)/set" }
        let place = number % 40
        return place == 0 ? "plain" : "log/\(place % 3)/\(place)"
    }

    private static func isCommand(_ number: Int) -> Bool { number % commandEvery == 0 }

    /// The points where an agent is killed, in turn; at a point that it does not reach, it is killed at a random
    /// moment.
    private static let points = Deaths.Point.allCases.filter { !$0.isOfLetters }

    // MARK: The agent

    /// Registers the agent's routes: each writes the message's topic and number down, and commands are answered.
    static func handle(_ receiver: some HandlerRegistry, _ book: String, _ deaths: Deaths) throws {
        let book = try BookWriter(book)
        @Sendable func note(_ message: DirectPushMessage, _ context: HandlerContext) throws -> DataValue {
            deaths.pass(.inHandler)
            guard let number = message.data["n"], let topic = context.mqtt?.topic else { throw HandlerFailure() }
            try book.add("\(context.route) \(topic) \(number.string ?? "-")")
            return number
        }
        receiver.onCommand(id: "command", mqtt: MQTTPattern(topic: "cmd/+/set")) { message, context in
            let number = try note(message, context)
            try context.answer(.succeeded(["n": number]))
            deaths.pass(.afterHandler)
        }
        for (route, topic) in [("log", "log/#"), ("plain", "plain")] as [(String, MQTTTopicFilter)] {
            receiver.onDirectPush(id: route, mqtt: MQTTPattern(topic: topic)) { message, context in
                _ = try note(message, context)
                deaths.pass(.afterHandler)
            }
        }
    }

    // MARK: The run

    func row() async throws -> Row {
        var row = Row(fault: "commands and topics")
        let start = ContinuousClock.now
        let broker = try Broker()
        let folder = try Folder()
        let (state, book) = ("\(folder.path)/state", "\(folder.path)/book")
        let requester = try await Requester(broker.port)
        let publisher = Publisher(port: broker.port, connect: Self.connect) { Self.packet($0) }
        defer { publisher.stop() }
        func agent(_ death: [String] = []) throws -> Child {
            let command = [
                ownPath, "agent", "--answers", "--port", "\(broker.port)", "--topic", "answering", "--state", state,
                "--book", book,
            ]
            return try Child(command + death, errors: "\(folder.path)/log")
        }
        // The broker keeps what comes from now on.
        let first = try agent()
        try wait(for: "the agent is connected", within: .seconds(20)) {
            words(of: "\(folder.path)/log").contains("QoS 1 granted")
        }
        try first.end(by: SIGTERM)
        for kill in 0..<kills {
            publisher.publish(messages * (kill + 1) / kills - messages * kill / kills)
            let point = Self.points[kill % Self.points.count]
            let child = try agent(["--die", "\(point.rawValue):\(kill / Self.points.count % 3 + 2)"])
            if kill % 13 == 12 {
                try broker.stop()
                try broker.start()
            }
            let end = ContinuousClock.now + .seconds(2)
            while child.isRunning, .now < end { usleep(5000) }
            try child.end(by: SIGKILL)
            do { _ = try Database.check(state, in: folder.path) } catch { row.broken.append("kill \(kill): \(error)") }
        }
        try publisher.settle()
        let last = try agent()
        let commands = (1...messages).filter(Self.isCommand)
        do {
            try wait(for: "all are handled and answered", within: .seconds(120)) {
                usleep(50_000)
                return requester.numbers(of: commands).allSatisfy { !$0.isEmpty }
                    && (try? Database.waiting(state)) == 0
            }
        } catch { row.broken.append("\(error)\n\(words(of: "\(folder.path)/log").suffix(1000))") }
        try last.end(by: SIGTERM)
        // A message is put aside if the process ended four times while it was handled, the last time alone.
        let letters = Set(try Database.check(state, in: folder.path).letters.map(\.number))
        row.letters = letters.count
        row.broken += check(words(of: book), letters, &row)
        row.broken += check(requester, commands, letters)
        await requester.stop()
        (row.runs, row.messages) = (kills, messages)
        row.seconds = start.duration(to: .now) / .seconds(1)
        return row
    }

    /// Compares what was handled with what was published.
    private func check(_ book: String, _ letters: Set<Int>, _ row: inout Row) -> [String] {
        var (seen, last, broken): (Set<Int>, [Substring: Int], [String]) = ([], [:], [])
        for line in book.split(separator: "\n") {
            let parts = line.split(separator: " ")
            guard parts.count == 3, let number = Int(parts[2]) else { return ["the book has a line '\(line)'"] }
            let topic = Self.topic(of: number)
            let route = Self.isCommand(number) ? "command" : topic == "plain" ? "plain" : "log"
            if parts[0] != route || parts[1] != topic { broken.append("\(number) was handled as '\(line)'") }
            guard seen.insert(number).inserted else {
                row.twice += 1
                continue
            }
            if let before = last[parts[1]], before > number { broken.append("\(topic): \(number) after \(before)") }
            last[parts[1]] = number
        }
        row.lost = messages - seen.union(letters).count
        if row.lost > 0 { broken.append("\(row.lost) were never handled") }
        return broken
    }

    /// Compares the answers with the commands.
    private func check(_ requester: Requester, _ commands: [Int], _ letters: Set<Int>) -> [String] {
        var broken: [String] = []
        let numbers = requester.numbers(of: commands)
        let unanswered = zip(commands, numbers).filter(\.1.isEmpty).map(\.0)
        if !unanswered.isEmpty { broken.append("without an answer: \(unanswered.prefix(10))") }
        let several = zip(commands, numbers).filter { Set($0.1).count > 1 }.map(\.0)
        if !several.isEmpty { broken.append("with different answers: \(several.prefix(10))") }
        // A kill between the broker's confirmation and its record repeats an answer, with its number.
        let repeated = numbers.reduce(0) { $0 + max($1.count - 1, 0) }
        if repeated > kills { broken.append("\(repeated) answers were repeated, by \(kills) kills") }
        print("commands: \(commands.count), answered: \(commands.count - unanswered.count), repeated: \(repeated)")
        let wrong = requester.failed.subtracting(letters)
        if !wrong.isEmpty { broken.append("answered wrongly: \(wrong.sorted().prefix(10))") }
        return broken
    }

    // MARK: Packets

    /// CONNECT of MQTT 5, with a clean start, no keep-alive, no properties and no client id.
    private static let connect: [UInt8] = [0x10, 13, 0, 4, 0x4D, 0x51, 0x54, 0x54, 5, 2, 0, 0, 0, 0, 0]

    private static func packet(_ number: Int) -> [UInt8] {
        let topic = Array(topic(of: number).utf8)
        var properties: [UInt8] = []
        if isCommand(number) {
            let (answers, correlation) = (Array("answers/\(number % 7)".utf8), Array("\(number)".utf8))
            properties = [0x08, 0, UInt8(answers.count)] + answers + [0x09, 0, UInt8(correlation.count)] + correlation
        }
        let body =
            [0, UInt8(topic.count)] + topic + Publisher.id(of: number) + [UInt8(properties.count)] + properties
            + Array("{\"n\":\(number)}".utf8)
        // All are shorter than 128 bytes.
        return [0x32, UInt8(body.count)] + body
    }
}

/// Whoever gave the commands: notes each answer, in a process that is not killed.
private final class Requester: Sendable {
    private final class Answers: Sendable {
        /// The numbers that the answers of each command had, and the commands that were not answered as they should.
        let state = Mutex<(numbers: [Int: [String]], failed: Set<Int>)>(([:], []))
    }

    private let answers = Answers()
    private let run: Task<Void, any Error>

    init(_ port: Int) async throws {
        var settings = MQTTSettings(host: "127.0.0.1", port: port, topic: "answers/+", usesTLS: false)
        (settings.version, settings.risksMQTT5, settings.clientID) = (.v5, true, "requester")
        (settings.backoff, settings.maxBackoff) = (.milliseconds(20), .milliseconds(200))
        // No deduplicator: a repeated answer is to be seen.
        let receiver = PushReceiver { ScopeFilter() }
        let service = PushService(receiver, [try MQTTTransport(settings)])
        let isConnected = Atomic<Bool>(false)
        service.onEvent { event in
            if case .transport(_, .connected) = event { isConnected.store(true, ordering: .relaxed) }
        }
        run = Task { try await service.run() }
        receiver.onAny { [answers] message, context in
            let correlation = context.mqtt?.correlationData.map { String(decoding: $0, as: UTF8.self) } ?? "-"
            let isRight = message.data["n"]?.string == correlation && context.mqtt?["status"] == "succeeded"
            answers.state.withLock { answers in
                let number = context.mqtt?["number"] ?? "-"
                // What the broker brings again after its restart, the agent has not sent again.
                let isAgain =
                    message.raw.isRedelivered && answers.numbers[Int(correlation) ?? 0]?.contains(number) == true
                if !isAgain { answers.numbers[Int(correlation) ?? 0, default: []].append(number) }
                if !isRight { answers.failed.insert(Int(correlation) ?? 0) }
            }
        }
        for _ in 0..<1000 where !isConnected.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(10)) }
    }

    func numbers(of commands: [Int]) -> [[String]] {
        answers.state.withLock { answers in commands.map { answers.numbers[$0] ?? [] } }
    }

    var failed: Set<Int> { answers.state.withLock { $0.failed } }

    func stop() async {
        run.cancel()
        _ = try? await run.value
    }
}
