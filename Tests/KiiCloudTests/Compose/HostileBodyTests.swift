import KiiPush
import Testing

@testable import KiiCloud

@Suite("bodies that somebody damaged")
struct HostileBodyTests {
    private static let body = #"""
        {"data":{"text":"é\n","n":-1.5e3,"on":true,"deep":{"a":[1,null]}},"sendTopicID":false,"pushMessageType":"t",
         "apns":{"alert":{"body":"b","locArgs":["x"]},"badge":1},"gcm":{"data":{"k":"v"},"notification":{"title":"t"}},
         "mqtt":{"enabled":false,"qos":0},"jpush":{"data":{"k":2}}}
        """#

    @Test("each is refused with a place in it, or read to what its own body says again")
    func damaged() throws {
        let bytes = Array(Self.body.utf8)
        var accepted = 0
        for index in bytes.indices {
            for byte in [UInt8(ascii: "\""), UInt8(ascii: "}"), UInt8(ascii: "1"), UInt8(ascii: "a"), 0x00, 0xFF] {
                var damaged = bytes
                damaged[index] = byte
                do throws(MessageBodyError) {
                    let message = try OutgoingMessage(body: damaged)
                    #expect(try OutgoingMessage(body: message.body) == message)
                    _ = message.problems(sentTo: Samples.documented)
                    accepted += 1
                } catch { #expect((0...bytes.count).contains(error.offset)) }
            }
        }
        #expect(accepted > 100)
    }

    @Test("one that is cut is refused at its end or before", arguments: Array(stride(from: 0, to: 300, by: 7)))
    func cut(length: Int) throws {
        let bytes = Array(Self.body.utf8)
        guard length < bytes.count else { return }
        let error = try #require(throws: MessageBodyError.self) { try OutgoingMessage(body: Array(bytes[..<length])) }
        #expect(error.offset <= length)
    }

    @Test("one that is too large, too deep or has too many members is refused")
    func bounds() {
        let large = #"{"data":{"k":""# + String(repeating: "x", count: OutgoingMessage.mostBodyBytes) + #""}}"#
        let deep = #"{"data":{"k":"# + String(repeating: "[", count: 40) + String(repeating: "]", count: 40) + "}}"
        let many = #"{"data":{"# + (0..<1100).map { "\"k\($0)\":1" }.joined(separator: ",") + "}}"
        for body in [large, deep, many] {
            let error = #expect(throws: MessageBodyError.self) { try OutgoingMessage(body: body) }
            #expect(error?.detail.contains("limitExceeded") == true)
        }
    }
}
