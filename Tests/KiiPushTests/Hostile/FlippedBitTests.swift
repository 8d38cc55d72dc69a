import Foundation
import KiiPush
@_spi(Hostile) import KiiPushTesting
import Testing

@testable import KiiPushTestSupport

/// One bit that flips on the way makes another message or an error, never a crash or a message that lies.
///
/// With `KIIPUSH_LONG=1` a million bits, else twenty thousand.
struct FlippedBitTests {
    private static let seeds: Range<UInt64> = 0..<10
    private static let flips = ProcessInfo.processInfo.environment["KIIPUSH_LONG"] == "1" ? 100_000 : 2000

    @Test("a flipped bit breaks no invariant", arguments: seeds)
    func flipped(seed: UInt64) {
        let payloads = PayloadFixture.matrix.map(\.payload)
        let kept = KeptInput.all.filter { !$0.bytes.isEmpty }
        var random = RandomJSON(seed: 400 + seed)
        for number in 0..<Self.flips {
            var bytes: [UInt8] = []
            do {
                if number.isMultiple(of: 2) {
                    var payload = payloads[random.count(in: 0...(payloads.count - 1))]
                    flipBit(of: &payload.bytes, &random)
                    bytes = payload.bytes
                    try Invariants.check(payload)
                } else {
                    let input = kept[random.count(in: 0...(kept.count - 1))]
                    bytes = input.bytes
                    flipBit(of: &bytes, &random)
                    try KeptInput(target: input.target, name: input.name, bytes: bytes).check()
                }
            } catch {
                Issue.record("flip \(number) of seed \(seed): \(error): \(String(decoding: bytes, as: UTF8.self))")
            }
        }
        print("flipped \(Self.flips) bits, seed \(seed)")
    }

    @Test(
        "a byte that is replaced, left out or doubled breaks no invariant",
        arguments: PayloadFixture.matrix.map(\.payload))
    func changed(_ payload: RawPayload) throws {
        for index in payload.bytes.indices {
            for nasty in Array("\"\\{}[],:-.e0u ".utf8) + [0x00, 0x0A, 0x1F, 0x80, 0xC3, 0xED, 0xF0, 0xFF] {
                var damaged = payload
                damaged.bytes[index] = nasty
                try Invariants.check(damaged)
            }
            var (shorter, longer) = (payload, payload)
            shorter.bytes.remove(at: index)
            longer.bytes.insert(payload.bytes[index], at: index)
            for damaged in [shorter, longer] { try Invariants.check(damaged) }
        }
    }

    @Test("a payload that is cut anywhere is an error at its end", arguments: PayloadFixture.matrix.map(\.payload))
    func cut(_ payload: RawPayload) throws {
        for length in payload.bytes.indices {
            let cut = RawPayload(Array(payload.bytes[..<length]), transport: payload.transport)
            let error = #expect(throws: DecodeError.self) { try PushMessage(cut) }
            #expect(error?.code == (length == 0 ? .empty : .unexpectedEnd) && error?.offset == length)
        }
    }

    private func flipBit(of bytes: inout [UInt8], _ random: inout RandomJSON) {
        bytes[random.count(in: 0...(bytes.count - 1))] ^= 1 << UInt8(random.count(in: 0...7))
    }
}
