// A program that is asked what ../../README.md says.

import Foundation

/// What the handler has read.
final class Sum {
    var read = 0
}

func makeReceiver(limit: Int, _ sum: Sum) -> Receiver {
    let receiver = Receiver(app: "0123abcd", me: "th.1", limit: limit)
    for number in 1...97 { receiver.onBucket("bucket\(number)") { _ in } }
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

func check(_ payloads: [Data]) {
    let receiver = makeReceiver(limit: 20, Sum())
    for bytes in payloads { print(row(receiver.parse(bytes), receiver.receive(bytes))) }
}

func time(_ payloads: [Data], passes: Int) {
    let sum = Sum()
    var (handled, nanoseconds) = (0, UInt64(0))
    for pass in 0...passes {
        // The first is not counted.
        if pass == 1 { (handled, nanoseconds, sum.read) = (0, 0, 0) }
        let receiver = makeReceiver(limit: 1_000_000_000, sum)
        let start = DispatchTime.now().uptimeNanoseconds
        for bytes in payloads where receiver.receive(bytes) == .handled { handled += 1 }
        nanoseconds += DispatchTime.now().uptimeNanoseconds - start
    }
    print(nanoseconds, handled, sum.read)
}

func lines(_ file: String) throws -> [Data] {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
    // A buffer of its own for each, as from a transport.
    return bytes.split(separator: UInt8(ascii: "\n")).map { Data(Array($0)) }
}

let arguments = CommandLine.arguments
switch (arguments.count, arguments.dropFirst().first) {
case (3, "check"?): check(try lines(arguments[2]))
case (4, "time"?): time(try lines(arguments[2]), passes: Int(arguments[3]) ?? 1)
default:
    FileHandle.standardError.write(Data("usage: foundation check FILE | time FILE PASSES\n".utf8))
    exit(64)
}
