import Glibc
@_spi(Benchmarks) import KiiPush
import Synchronization

/// Speaks the protocol of ../README.md, for decoding alone and for the whole receiver.
@main
struct Peer {
    private enum Program: String {
        case decode
        case receive
        /// A receiver of many tasks, with a handler that borrows.
        case lend
        /// A loop that one task owns, with a handler that keeps.
        case loop
        /// A loop that one task owns, in batches of 16, with a handler that borrows.
        case batch

        var isLoop: Bool { self == .loop || self == .batch }

        var handler: Handler {
            switch self {
            case .decode, .receive, .loop: .keeping
            case .lend: .waiting
            case .batch: .borrowing
            }
        }
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
        print("usage: kiipush-peer decode|receive|lend|loop|batch check FILE ROUTES | time FILE ROUTES MESSAGES")
        exit(64)
    }

    // MARK: Check

    private static func check(_ payloads: [[UInt8]], _ program: Program, routes: Int) async {
        let receiver = makeReceiver(routes: routes, rate: .own(LoopRate()), Sum(), program.handler)
        var loop = ReceiveLoop(receiver)
        for bytes in payloads {
            let payload = RawPayload(bytes)
            let outcome = program.isLoop ? await loop.receive(payload) : await receiver.receive(payload)
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
                    makeReceiver(routes: routes, rate: .own(LoopRate(messages: 1_000_000_000)), sum, program.handler)
                }
                switch program {
                case .decode: nanoseconds += decode(count, &handled)
                case .receive, .lend: nanoseconds += await receive(count, receiver(), &handled)
                case .loop: nanoseconds += await receive(count, in: ReceiveLoop(receiver()), &handled)
                case .batch: nanoseconds += await receive(count, batches: ReceiveLoop(receiver()), &handled)
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

        private func receive(_ count: Int, in loop: consuming ReceiveLoop, _ handled: inout Int) async -> Double {
            let start = ContinuousClock.now
            for number in 0..<count {
                if case .handled = await loop.receive(RawPayload(payloads[number])) { handled += 1 }
            }
            return start.duration(to: .now) / .nanoseconds(1)
        }

        /// Sixteen at once, as a socket or a broker may bring them.
        private func receive(_ count: Int, batches loop: consuming ReceiveLoop, _ handled: inout Int) async -> Double {
            let start = ContinuousClock.now
            var next = 0
            while next < count {
                let end = min(next + 16, count)
                let batch = payloads[next..<end].map { RawPayload($0) }
                for disposition in await loop.receive(contentsOf: batch) where disposition == .accept { handled += 1 }
                next = end
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
    func add(_ event: borrowing LentEvent) {
        let (bucket, object) = (event.withBytes(of: .bucket) { $0.count }, event.withBytes(of: .object) { $0.count })
        add((bucket ?? 0) + (object ?? 0) + (event.withBytes(of: .scopeID) { $0.count } ?? 0))
    }
}

/// How the handler takes its messages.
private enum Handler {
    case keeping
    /// Lent, and it may wait.
    case waiting
    case borrowing
}

private func makeReceiver(
    routes: Int, rate: RouteLoopPolicy.Rate, _ sum: Sum, _ handler: Handler = .keeping
) -> PushReceiver {
    let receiver = PushReceiver(
        app: "0123abcd", me: [.thing(id: "th.1")], serving: [.app, .user("*")],
        // A rate that no benchmark reaches: each message is counted, and none is held.
        loop: LoopSettings(rate: LoopRate(messages: 1_000_000)))
    for number in 1..<max(routes - 2, 1) { receiver.onPushToApp(bucket: .exactly("bucket\(number)")) { _, _ in } }
    let options = RouteOptions(loop: RouteLoopPolicy(rate: rate))
    switch handler {
    case .keeping:
        receiver.onPushToApp(bucket: "bucketName", options: options) { event, _ in
            let (bucket, object, scope) = (event.bucket, event.object, event.scope)
            sum.add(bucket.name.utf8.count + (object?.id.utf8.count ?? 0) + (scope.id?.utf8.count ?? 0))
        }
    case .waiting:
        receiver.onLent(kind: .pushToApp, bucket: "bucketName", options: options) { event async in sum.add(event) }
    case .borrowing:
        receiver.onLent(kind: .pushToApp, bucket: "bucketName", options: options) { event in sum.add(event) }
    }
    receiver.onPushToUser(topic: "news", options: RouteOptions(loop: RouteLoopPolicy(rate: rate))) { _, _ in }
    receiver.onDirectPush(options: RouteOptions(loop: RouteLoopPolicy(rate: rate))) { _, _ in }
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
