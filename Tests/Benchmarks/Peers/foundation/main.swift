// Speaks the protocol of ../README.md, for the bare parsers and for the receiver.

import Foundation

/// What the handler has read.
final class Sum {
    var read = 0
}

func makeReceiver(routes: Int, limit: Int, _ sum: Sum) -> Receiver {
    let receiver = Receiver(app: "0123abcd", me: "th.1", limit: limit)
    for number in 1..<max(routes - 2, 1) { receiver.onBucket("bucket\(number)") { _ in } }
    receiver.onBucket("bucketName") { message in
        for text in [message.bucket, message.object, message.scopeID] { sum.read += text?.utf8.count ?? 0 }
    }
    receiver.onTopic("news") { _ in }
    receiver.onDirectPush { _ in }
    return receiver
}

func row(_ message: Message?, _ outcome: Outcome) -> String {
    guard let message else { return "-\t-\t-\t-\t-\t\(outcome.rawValue)" }
    let scope = (message.scope ?? "-") + (message.scopeID.map { ":" + $0 } ?? "")
    let texts = [
        message.kind.rawValue, message.bucket ?? "-", message.object ?? "-", message.topic ?? "-", scope,
        outcome.rawValue,
    ]
    return texts.joined(separator: "\t")
}

/// What a parser alone found.
func row(bucket: String?, object: String?, scope: String?, scopeID: String?) -> String {
    let scope = (scope ?? "-") + (scopeID.map { ":" + $0 } ?? "")
    return ["-", bucket ?? "-", object ?? "-", "-", scope, "-"].joined(separator: "\t")
}

func check(_ what: String, _ payloads: [Data], routes: Int) throws {
    let receiver = makeReceiver(routes: routes, limit: 20, Sum())
    for bytes in payloads {
        switch what {
        case "decoder":
            let found = try JSONDecoder().decode(APNsPayload.self, from: bytes)
            print(row(bucket: found.bi, object: found.oi, scope: found.st, scopeID: found.su))
        case "serialization":
            let found = try JSONSerialization.jsonObject(with: bytes) as? [String: Any] ?? [:]
            let text = { (key: String) in found[key] as? String }
            print(row(bucket: text("bi"), object: text("oi"), scope: text("st"), scopeID: text("su")))
        default: print(row(receiver.parse(bytes), receiver.receive(bytes)))
        }
    }
}

/// Passes through the payloads twice, with a state made anew for each pass and untimed; the second time counts.
func time<State>(
    _ payloads: [Data], _ messages: Int, _ sum: Sum, make: () -> State, each: (State, Data) -> Bool
) -> String {
    var (handled, nanoseconds) = (0, UInt64(0))
    for _ in 1...2 {
        (handled, nanoseconds, sum.read) = (0, 0, 0)
        var left = messages
        while left > 0 {
            let count = min(left, payloads.count)
            let state = make()
            let start = DispatchTime.now().uptimeNanoseconds
            for number in 0..<count where each(state, payloads[number]) { handled += 1 }
            nanoseconds += DispatchTime.now().uptimeNanoseconds - start
            left -= count
        }
    }
    return #"{"messages":\#(messages),"nanoseconds":\#(nanoseconds),"handled":\#(handled),"read":\#(sum.read)}"#
}

func time(_ what: String, _ payloads: [Data], routes: Int, messages: Int) -> String? {
    let sum = Sum()
    switch what {
    case "decoder":
        return time(payloads, messages, sum, make: JSONDecoder.init) { decoder, bytes in
            (try? decoder.decode(APNsPayload.self, from: bytes)) != nil
        }
    case "serialization":
        return time(payloads, messages, sum, make: {}) { _, bytes in
            (try? JSONSerialization.jsonObject(with: bytes)) != nil
        }
    case "receive":
        return time(
            payloads, messages, sum, make: { makeReceiver(routes: routes, limit: 1_000_000_000, sum) },
            each: { receiver, bytes in receiver.receive(bytes) == .handled })
    default: return nil
    }
}

func lines(_ file: String) throws -> [Data] {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
    // A buffer of its own for each, as from a transport.
    return bytes.split(separator: UInt8(ascii: "\n")).map { Data(Array($0)) }
}

let arguments = CommandLine.arguments
if arguments.count >= 5, let routes = Int(arguments[4]) {
    let payloads = try lines(arguments[3])
    if arguments[2] == "check" {
        try check(arguments[1], payloads, routes: routes)
        exit(0)
    }
    if arguments.count == 6, let messages = Int(arguments[5]),
        let line = time(arguments[1], payloads, routes: routes, messages: messages)
    {
        print(line)
        exit(0)
    }
}
let usage = "usage: foundation decoder|serialization|receive check FILE ROUTES | time FILE ROUTES MESSAGES\n"
FileHandle.standardError.write(Data(usage.utf8))
exit(64)
