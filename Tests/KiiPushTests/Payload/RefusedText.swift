import Testing

@testable import KiiPush

/// A payload that must be refused: with which code, and at which byte.
///
/// In text, the place is marked with `↓`, which is taken out of the payload: no byte is counted by hand.
struct RefusedText: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    let code: DecodeError.Code
    let offset: Int

    var testDescription: String { name }

    init(_ marked: String, _ code: DecodeError.Code = .unexpectedCharacter) {
        let halves = marked.split(separator: "↓", maxSplits: 1, omittingEmptySubsequences: false)
        precondition(halves.count == 2, "mark the place in \(marked)")
        self.init(marked.debugDescription, Array((halves[0] + halves[1]).utf8), code, at: halves[0].utf8.count)
    }

    init(_ name: String, _ bytes: [UInt8], _ code: DecodeError.Code, at offset: Int) {
        self.name = name
        self.bytes = bytes
        self.code = code
        self.offset = offset
    }

    /// Checks that the payload is refused so, over every transport.
    func check(limits: PayloadLimits = .standard, location: SourceLocation = #_sourceLocation) {
        // QuickBlox is left out: over it, what begins with a letter or a digit is no JSON, but a sender's Base64.
        let transports: [Transport?] = [nil, .apns, .fcm, .jpush, .mqtt, "radio"]
        for transport in transports {
            let error = #expect(throws: DecodeError.self, sourceLocation: location) {
                try PushMessage(RawPayload(bytes, transport: transport), limits: limits)
            }
            #expect(error?.code == code, sourceLocation: location)
            #expect(error?.offset == offset, sourceLocation: location)
        }
    }
}
