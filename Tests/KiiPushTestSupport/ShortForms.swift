@testable import KiiPush

extension PushMessage {
    /// Reads a payload that a test writes as text.
    init(json text: String, over transport: Transport? = nil, app: String? = nil) throws(DecodeError) {
        try self.init(RawPayload(text, transport: transport), app: app)
    }
}

extension MonotonicInstant {
    /// So many seconds after a clock's beginning.
    static func seconds(_ seconds: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: seconds * 1_000_000_000)
    }
}
