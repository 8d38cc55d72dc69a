import Glibc
@_spi(Benchmarks) import KiiPush
import Synchronization

/// Speaks the protocol of ../README.md, for decoding alone and for the whole receiver.
@main
struct Peer {
    private enum Program: String {
        case decode
        case receive
    }

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 5, let program = Program(rawValue: arguments[1]), let routes = Int(arguments[4]) else {
            exitWithUsage()
        }
        let payloads = try lines(of: arguments[3])
        let messages = arguments.count == 6 ? Int(arguments[5]) : nil
        switch (arguments[2], messages) {
        case ("check", nil): await check(payloads, program, routes: routes)
        case ("time", let messages?):
            let subject = Subject(program: program, payloads: payloads, routes: routes, messages: messages)
            _ = await subject.time()
            print(await subject.time())
        default: exitWithUsage()
        }
    }

    private static func exitWithUsage() -> Never {
        print("usage: kiipush-peer decode|receive check FILE ROUTES | time FILE ROUTES MESSAGES")
        exit(64)
    }

    // MARK: Check

    private static func check(_ payloads: [[UInt8]], _ program: Program, routes: Int) async {
        let receiver = makeReceiver(routes: routes, pace: .standard, Sum())
        for bytes in payloads {
            let payload = RawPayload(bytes)
            let outcome = await receiver.receive(payload)
            print(row(try? PushMessage(payload), outcome.name))
        }
    }

    private static func row(_ message: PushMessage?, _ outcome: String) -> String {
        guard let message else { return "-\t-\t-\t-\t-\t\(outcome)" }
        let scope = (message.scope.typeName ?? "-") + (message.scope.id.map { ":" + $0 } ?? "")
        let texts = [
            message.kind.rawValue, message[.bucketID] ?? "-", message.object?.id ?? "-", message[.topic] ?? "-", scope,
            outcome,
        ]
        return texts.joined(separator: "\t")
    }

    // MARK: Time

    /// What is timed: a pass is once through the payloads, with a receiver made anew.
    private struct Subject {
        let program: Program
        let payloads: [[UInt8]]
        let routes: Int
        let messages: Int

        func time() async -> String {
            let sum = Sum()
            var (handled, nanoseconds, left) = (0, 0.0, messages)
            while left > 0 {
                let count = min(left, payloads.count)
                func receiver() -> PushReceiver {
                    makeReceiver(routes: routes, pace: .every(.nanoseconds(1)), sum)
                }
                switch program {
                case .decode: nanoseconds += decode(count, &handled)
                case .receive: nanoseconds += await receive(count, receiver(), &handled)
                }
                left -= count
            }
            return #"{"messages":\#(messages),"nanoseconds":\#(Int(nanoseconds)),"handled":\#(handled),"#
                + #""read":\#(sum.read)}"#
        }

        private func decode(_ count: Int, _ decoded: inout Int) -> Double {
            let start = ContinuousClock.now
            for number in 0..<count where (try? PushMessage(RawPayload(payloads[number])))?.kind == .pushToApp {
                decoded += 1
            }
            return start.duration(to: .now) / .nanoseconds(1)
        }

        private func receive(_ count: Int, _ receiver: PushReceiver, _ handled: inout Int) async -> Double {
            let start = ContinuousClock.now
            for number in 0..<count {
                if case .handled = await receiver.receive(RawPayload(payloads[number])) { handled += 1 }
            }
            return start.duration(to: .now) / .nanoseconds(1)
        }

    }
}

/// What the handlers have read.
private final class Sum: Sendable {
    private let total = Atomic(0)
    var read: Int { total.load(ordering: .relaxed) }
    func add(_ length: Int) { total.add(length, ordering: .relaxed) }
}

private func makeReceiver(routes: Int, pace: RoutePace, _ sum: Sum) -> PushReceiver {
    let receiver = PushReceiver(
        app: "0123abcd", me: [.thing(id: "th.1")], serving: [.app, .user("*")])
    for number in 1..<max(routes - 2, 1) { receiver.onPushToApp(bucket: .exactly("bucket\(number)")) { _, _ in } }
    let options = RouteOptions(pace: pace)
    receiver.onPushToApp(bucket: "bucketName", options: options) { event, _ in
        let (bucket, object, scope) = (event.bucket, event.object, event.scope)
        sum.add(bucket.name.utf8.count + (object?.id.utf8.count ?? 0) + (scope.id?.utf8.count ?? 0))
    }
    receiver.onPushToUser(topic: "news", options: options) { _, _ in }
    receiver.onDirectPush(options: options) { _, _ in }
    // The index of the routes is made with the first message; as in the other programs, that is not timed.
    if let message = try? PushMessage(RawPayload("{}")) { _ = receiver.routes(for: message) }
    return receiver
}

private struct Unreadable: Error {
    let file: String
}

/// The lines of a file, an array of its own for each, as from a transport.
private func lines(of file: String) throws -> [[UInt8]] {
    guard let stream = fopen(file, "r") else { throw Unreadable(file: file) }
    defer { fclose(stream) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = fread(&part, 1, part.count, stream)
        if count == 0 { break }
        bytes += part[..<count]
    }
    return bytes.split(separator: UInt8(ascii: "\n")).map { Array($0) }
}
