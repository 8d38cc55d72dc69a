import Glibc
import KiiPush
import KiiPushTesting
import Testing

/// A payload that is too large costs nothing, and no number of hostile ones adds up.
///
/// Each test runs in a process of its own, so that no other test's memory counts.
struct MemoryTests {
    @Test("a payload of 100 MB is refused without a copy")
    func tooLarge() async {
        await #expect(processExitsWith: .success) {
            for transport in [nil, Transport.apns, .fcm, .jpush, .mqtt, .quickblox] {
                let payload = RawPayload(
                    [UInt8](repeating: UInt8(ascii: "["), count: 100_000_000), transport: transport)
                let before = peakMemory()
                let error = try #require(throws: DecodeError.self) { try PushMessage(payload) }
                #expect(error.code == .limitExceeded)
                let growth = peakMemory() - before
                // A constant for the code that is loaded by then; a copy would be a hundred megabytes.
                #expect(growth < 4 << 20, "\(growth) bytes over \(transport?.name ?? "any")")
            }
        }
    }

    @Test("a receiver's memory stays flat over ten thousand hostile payloads")
    func flat() async {
        await #expect(processExitsWith: .success) {
            // Limits of the window, so that what is remembered on purpose is soon at its bound.
            let clock = ManualClock()
            let receiver = PushReceiver(app: "0123abcd", clock: clock) {
                Deduplicator(window: SeenWindow(count: 100))
                LoopGuard(settings: .standard.without(.pace))
                ScopeFilter()
            }
            receiver.onDirectPush { _, _ in }
            for number in 1...2000 { _ = await receiver.receive(hostilePayload(number)) }
            let warm = peakMemory()
            for number in 2001...12_000 { _ = await receiver.receive(hostilePayload(number)) }
            let growth = peakMemory() - warm
            #expect(receiver.metrics.received == 12_000)
            #expect(receiver.metrics.count("undecodable") > 3000 && receiver.metrics.count("handled") > 1000)
            #expect(growth < 1 << 20, "grew by \(growth) bytes, over ten thousand payloads")
        }
    }
}

/// A payload like no other one, and most likely broken.
private func hostilePayload(_ number: Int) -> RawPayload {
    let text =
        switch number % 10 {
        case 0: String(repeating: "[", count: 5000)
        case 1: #"{"a":"\#(String(repeating: "\\u0041", count: 2000)) \#(number)"}"#
        case 2: "{" + (0..<60).map { "\"k\($0)-\(number)\":\($0)" }.joined(separator: ",") + "}"
        case 3: #"{"bucketID":"b","topic":"t\#(number)","when":[]}"#
        case 4: #"{"a":"\#(number)"#
        case 5: #"{"a\#(number)":1,"a\#(number)":2}"#
        case 6: "a\(number)=" + String(repeating: "QUJD", count: 300) + "&b=!"
        case 7: String(repeating: "x", count: 70_000)
        case 8: #"{"commandID":"\#(number)","actions":[{"a":[{"b":{"c":[1,2,3]}}]}]}"#
        default: #"{"cn.jpush.android.MESSAGE":"{\"n\":\#(number)}"}"#
        }
    let transports: [Transport?] = [nil, .apns, .fcm, .jpush, .mqtt, .quickblox]
    return RawPayload(text, transport: transports[number / 10 % 6])
}

/// The most memory that this process ever had, in bytes.
private func peakMemory() -> Int {
    var usage = rusage()
    unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_maxrss * 1024
}
