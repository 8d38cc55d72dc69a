#if HTTP
import KiiCloud
import KiiCloudTesting
import KiiPush
import Testing

@testable import KiiCloudHTTP
@testable import KiiPushTestSupport

@Suite("a server that fails at every point", .timeLimit(.minutes(5)))
struct FaultTests {
    /// One whose requests have time enough on a busy machine, or hardly any where the server is to be too slow.
    private func bench(isTooSlow: Bool = false) throws -> Bench {
        try Bench { settings in
            settings.requestLimit = isTooSlow ? .milliseconds(1500) : .seconds(30)
            settings.bodyLimit = 4096
        }
    }

    /// Faults, each with what the write that meets it ends with, and whether the write has happened.
    static let faults: [(TestFault, error: String, isDone: Bool)] = [
        (.close(.work), "the connection failed", false), (.close(.answer), "the connection failed", true),
        (.close(.headers), "the connection failed", true), (.close(.body), "the connection failed", true),
        (.stall(.work), "did not answer in time", false), (.stall(.answer), "did not answer in time", true),
        (.stall(.headers), "did not answer in time", true), (.stall(.body), "did not answer in time", true),
        (.rubbish, "the connection failed", false), (.largeBody(4097), "larger than 4096 bytes", true),
        (.largeHeaders(100_000), "larger than 65536 bytes", true), (.slow, "did not answer in time", true),
    ]

    @Test("after each fault the error says what is known of the write", arguments: faults)
    func write(fault: TestFault, error: String, isDone: Bool) async throws {
        let bench = try bench(isTooSlow: error == "did not answer in time")
        // Over a kept connection too, where libcurl would send it again by itself.
        for isKept in [false, true] {
            if isKept { _ = try await bench.client.perform(.readObject(bench.object)) }
            let before = bench.cloud.version(of: bench.object)
            bench.cloud.fail(fault)
            let thrown = await #expect(throws: CurlError.self) {
                try await bench.client.perform(.writeObject(bench.object, .replace(["temp": 22])))
            }
            #expect(thrown?.wasSent == true && thrown?.description.contains(error) == true, "\(thrown as Any)")
            #expect(bench.cloud.version(of: bench.object) == before + (isDone ? 1 : 0), "sent once")
            // The next one is none the worse for it.
            try await bench.client.perform(.writeObject(bench.object, .replace(["temp": 23])))
        }
        #expect(bench.cloud.violations == [])
        await bench.transport.close()
        try await eventually("closed") { bench.server.openConnections == 0 }
    }

    @Test("an answer of exactly the largest size is taken; a size below zero counts as zero", arguments: [4096, -1])
    func largest(size: Int) async throws {
        let bench = try bench()
        bench.cloud.fail(.largeBody(size))
        let request = try CloudRequest.readObject(bench.object).request(to: bench.server.app, token: bench.token)
        #expect(try await bench.transport.send(request).body.count == max(size, 0))
    }

    @Test("a header's value has no white space around it, and neither an interim answer nor a trailer has headers")
    func headers() {
        var answer = AnswerParts()
        for line in [
            "HTTP/1.1 103 Early", "ETag: early", "", "HTTP/1.1 200 OK", "ETag: \t\"7\" \t", "Retry-After:2 ", "Empty:",
            "", "ETag: trailer", "",
        ] {
            answer.addHeader(Array("\(line)\r\n".utf8), limit: 1000)
        }
        #expect(answer.headers.map { "\($0.name)=\($0.value)" } == ["ETag=\"7\"", "Retry-After=2", "Empty="])
        #expect(answer.hasAllHeaders)
    }

    @Test("without a server nothing is sent, and the error says so")
    func nobody() async throws {
        let bench = try bench()
        bench.server.stop()
        try await eventually("stopped") { bench.server.openConnections == 0 }
        let error = await #expect(throws: CurlError.self) { try await bench.client.perform(.createTopic(bench.topic)) }
        #expect(error?.wasSent == false && error?.description.hasPrefix("the server was not reached: ") == true)
    }
}
#endif
