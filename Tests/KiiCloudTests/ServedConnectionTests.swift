import Foundation
import Testing

@testable import KiiCloudTesting

@Suite("a connection to a test cloud")
struct ServedConnectionTests {
    @Test(
        "bytes that are no request are answered as a wrong one, or end the connection",
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
