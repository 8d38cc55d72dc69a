import KiiPush

@testable import KiiPushTestSupport

/// Readings as lines of `KEY=VALUE`, for tests: it reads whatever begins with `id=`.
struct TestLines: PayloadFormat {
    var name = "lines"

    func recognise(_ payload: borrowing PayloadView) -> Evidence? {
        payload.text?.hasPrefix("id=") == true ? Evidence(["id"]) : nil
    }

    func read(_ payload: borrowing PayloadView) throws(DecodeError) -> ForeignPush {
        var values: [(key: String, value: DataValue)] = []
        for line in payload.text?.split(separator: "\n") ?? [] {
            let parts = line.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { throw DecodeError(.badEncoding, at: 3, "expected KEY=VALUE") }
            values.append((String(parts[0]), .string(String(parts[1]))))
        }
        func value(_ key: String) -> String? { values.first { $0.key == key }?.value.string }
        return ForeignPush(
            id: value("id"), source: value("from"), type: value("kind"), subject: value("room"),
            sentAt: value("at").flatMap { Int64($0) }, expiresAt: value("until").flatMap { Int64($0) },
            alert: value("say").map { Alert(title: nil, subtitle: nil, body: $0) }, data: .members(values))
    }
}

/// A format that does what the test says.
struct ScriptedFormat: PayloadFormat {
    var name = "scripted"
    var transport: Transport?
    /// The root key that it recognises a payload by.
    var key = "scripted"
    var evidence: Evidence?
    var push: @Sendable () throws(DecodeError) -> ForeignPush = { () throws(DecodeError) in ForeignPush() }

    func recognise(_ payload: borrowing PayloadView) -> Evidence? {
        payload.has(key) || payload.transport != nil && payload.transport == transport
            ? evidence ?? Evidence([key]) : nil
    }

    func read(_ payload: borrowing PayloadView) throws(DecodeError) -> ForeignPush { try push() }
}
