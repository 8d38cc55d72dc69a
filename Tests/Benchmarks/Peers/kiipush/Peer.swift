import Glibc
import KiiPush
import Synchronization

/// KiiPush as a program that is asked what ../../README.md says; `watched` has a middleware of its own in the chain and
/// a trace listener, as an agent has.
@main
struct Peer {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 4, ["plain", "watched"].contains(arguments[1]) else { exitWithUsage() }
        let isWatched = arguments[1] == "watched"
        let payloads = try lines(of: arguments[3])
        switch (arguments[2], arguments.dropFirst(4).first.flatMap { Int($0) }) {
        case ("check", nil): await check(payloads, isWatched)
        case ("time", let passes?): await time(payloads, passes, isWatched)
        default: exitWithUsage()
        }
    }

    private static func exitWithUsage() -> Never {
        print("usage: kiipush-peer plain|watched check FILE | time FILE PASSES")
        exit(64)
    }

    // MARK: Check

    private static func check(_ payloads: [[UInt8]], _ isWatched: Bool) async {
        let receiver = makeReceiver(pace: .every(.seconds(10)), isWatched, Sum())
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

    private static func time(_ payloads: [[UInt8]], _ passes: Int, _ isWatched: Bool) async {
        let sum = Sum()
        var (handled, nanoseconds) = (0, 0.0)
        for pass in 0...passes {
            // The first is not counted.
            if pass == 1 { (handled, nanoseconds, sum.read) = (0, 0, 0) }
            // A pace that nothing exceeds: each message is counted, and none waits.
            let receiver = makeReceiver(pace: .every(.nanoseconds(1)), isWatched, sum)
            let start = ContinuousClock.now
            for bytes in payloads {
                if case .handled = await receiver.receive(RawPayload(bytes)) { handled += 1 }
            }
            nanoseconds += start.duration(to: .now) / .nanoseconds(1)
        }
        print(Int(nanoseconds), handled, sum.read)
    }
}

/// What the handlers have read.
private final class Sum: Sendable {
    private let total = Atomic(0)

    var read: Int {
        get { total.load(ordering: .relaxed) }
        set { total.store(newValue, ordering: .relaxed) }
    }

    func add(_ length: Int) { total.add(length, ordering: .relaxed) }
}

private func makeReceiver(pace: RoutePace, _ isWatched: Bool, _ sum: Sum) -> PushReceiver {
    let receiver = PushReceiver(app: "0123abcd") {
        Deduplicator()
        LoopGuard(me: [.thing(id: "th.1")])
        ScopeFilter(serving: [.app, .user("*")])
        for _ in 0..<(isWatched ? 1 : 0) { OwnMiddleware() }
    }
    for number in 1...97 { receiver.onPushToApp(bucket: .exactly("bucket\(number)")) { _, _ in } }
    let options = RouteOptions(pace: pace)
    receiver.onPushToApp(bucket: "bucketName", options: options) { event, _ in
        let (bucket, object, scope) = (event.bucket, event.object, event.scope)
        sum.add(bucket.name.utf8.count + (object?.id.utf8.count ?? 0) + (scope.id?.utf8.count ?? 0))
    }
    receiver.onPushToUser(topic: "news", options: options) { _, _ in }
    receiver.onDirectPush(options: options) { _, _ in }
    if isWatched { receiver.onTrace { blackHole($0.outcome) } }
    return receiver
}

/// A middleware as a user may write it: it looks at the message, and is told the outcome.
private struct OwnMiddleware: Middleware {
    func admit(_ message: inout RoutedMessage) -> Verdict { message.id == 0 ? .refuse("no number") : .pass }
    func settle(_ message: RoutedMessage, _ outcome: Outcome) { blackHole(outcome) }
}

/// Makes the optimiser believe that an outcome is used.
@inline(never)
@_optimize(none)
private func blackHole(_ outcome: borrowing Outcome) {}

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

private struct Unreadable: Error {
    let file: String
}
