import Foundation
import KiiPush
import Testing

@testable import KiiCloud
@testable import KiiCloudTesting

@Suite("tokens, keys and passwords are never seen")
struct SecretTests {
    /// All that printing, dumping and reflecting a value shows.
    private func shown(_ value: Any) -> String {
        var text = ""
        print(value, terminator: "", to: &text)
        debugPrint(value, to: &text)
        dump(value, to: &text)
        text += String(describing: value) + String(reflecting: value) + "\(value)" + "\([value])"
        text += "\(Mirror(reflecting: value).children.map { "\($0)" })"
        text += String(describing: Optional(value)) + String(reflecting: ["key": value])
        return text
    }

    private struct Holder {
        let name = "holder"
        let secret: Secret
        let request: HTTPRequest
    }

    @Test("a value that holds a secret never prints it")
    func silent() throws {
        let secret = Secret("s3cr3t")
        let app = KiiApp(.us, id: "a", key: secret)
        let call = CloudRequest.install(isDevelopment: true, of: KiiThing(id: "s3cr3t"))
        let request = try call.request(to: app, token: secret)
        let body = #"{"host":"h","mqttTopic":"s3cr3t","username":"s3cr3t","password":"s3cr3t"}"#
        let response = HTTPResponse(status: 200, headers: [HTTPHeader("X-Token", "s3cr3t")], body: Array(body.utf8))
        let answer = try CloudRequest.mqttEndpoint(of: "i").answer(response)
        let refused = HTTPResponse(
            status: 403, body: Array(#"{"errorCode":"WRONG_TOKEN","message":"s3cr3t","x":"s3cr3t"}"#.utf8))
        let values: [Any] = [
            secret, app, request, response, answer, refused.error(), HTTPHeader("A", "s3cr3t"),
            Holder(secret: secret, request: request),
        ]
        for value in values { #expect(!shown(value).contains("s3cr3t"), "\(type(of: value))") }
        // The bytes of a body are as good as the text.
        let bytes = "\(Array("s3cr3t".utf8))".dropFirst().dropLast()
        for value in values { #expect(!shown(value).contains(bytes), "\(type(of: value))") }
        #expect(secret.revealed == "s3cr3t" && request[header: "authorization"] == "Bearer s3cr3t")
        #expect("\(request)" == "POST https://api.kii.com/api/apps/a/installations, \(request.body.count) bytes")
    }

    @Test("a call that is not a request yet shows no bytes of its body")
    func call() {
        let text = shown(CloudRequest.install(isDevelopment: true, of: KiiThing(id: "s3cr3t")))
        #expect(!text.contains("s3cr3t"))
        #expect(!text.contains("115, 51, 99, 114, 51, 116"))
        let call = CloudRequest.readObject(KiiObject(bucket: Cloud.bucket, id: "a b"))
        #expect("\(call)" == "GET /users/\(Cloud.user.id)/buckets/settings/objects/a%20b, 0 bytes")
    }
}

@Suite("a connection to a test cloud")
struct ServedConnectionTests {
    @Test(
        "bytes that are not a request get an error or end the connection",
        arguments: [
            ("\r\n\r\n", "HTTP/1.1 400"), ("PUT / HTTP/1.1\r\nContent-Length: \(Int.max)\r\n\r\n", ""),
        ])
    func hostile(request: String, answer: String) throws {
        var ends: [Int32] = [0, 0]
        try #require(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        #expect(unsafe send(ends[0], request, request.utf8.count, 0) == request.utf8.count)
        shutdown(ends[0], Int32(SHUT_WR))
        var connection = ServedConnection(ends[1], TestCloud(), hosts: [])
        connection.serve()
        shutdown(ends[1], Int32(SHUT_WR))
        var bytes = [UInt8](repeating: 0, count: 12)
        let count = unsafe recv(ends[0], &bytes, bytes.count, Int32(MSG_WAITALL))
        #expect(String(decoding: bytes.prefix(count), as: UTF8.self) == answer)
    }
}
