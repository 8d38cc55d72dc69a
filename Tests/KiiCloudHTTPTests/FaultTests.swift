#if HTTP
import KiiCloud
import KiiCloudHTTP
import KiiCloudTesting
import KiiPush
import Testing

@Suite("a server that fails at every point", .timeLimit(.minutes(5)))
struct FaultTests {
    /// One whose requests have time enough on a busy machine, or hardly any where the server is to be too slow.
    private func bench(isTooSlow: Bool = false) throws -> Bench {
        try Bench { settings in
            settings.requestLimit = isTooSlow ? .milliseconds(1500) : .seconds(30)
            settings.bodyLimit = 4096
        }
    }

    /// A fault, and what the write that meets it ends with.
    struct Case: Sendable, CustomTestStringConvertible {
        let fault: TestFault
        let error: String
        /// Whether the write has happened.
        let isDone: Bool
        let wasSent: Bool

        var testDescription: String { "\(fault)" }
    }

    static let cases: [Case] = [
        Case(fault: .close(.work), error: "the connection failed", isDone: false, wasSent: true),
        Case(fault: .close(.answer), error: "the connection failed", isDone: true, wasSent: true),
        Case(fault: .close(.headers), error: "the connection failed", isDone: true, wasSent: true),
        Case(fault: .close(.body), error: "the connection failed", isDone: true, wasSent: true),
        Case(fault: .stall(.work), error: "did not answer in time", isDone: false, wasSent: true),
        Case(fault: .stall(.answer), error: "did not answer in time", isDone: true, wasSent: true),
        Case(fault: .stall(.headers), error: "did not answer in time", isDone: true, wasSent: true),
        Case(fault: .stall(.body), error: "did not answer in time", isDone: true, wasSent: true),
        Case(fault: .rubbish, error: "the connection failed", isDone: false, wasSent: true),
        Case(fault: .largeBody(4097), error: "larger than 4096 bytes", isDone: true, wasSent: true),
        Case(fault: .largeHeaders(100_000), error: "larger than 65536 bytes", isDone: true, wasSent: true),
        Case(fault: .slow, error: "did not answer in time", isDone: true, wasSent: true),
    ]

    @Test("each fault ends a write with an error that tells what is known of it", arguments: cases)
    func faults(fault: Case) async throws {
        let bench = try bench(isTooSlow: fault.error == "did not answer in time")
        // Over a kept connection too, where libcurl would send it again by itself.
        for isKept in [false, true] {
            if isKept { _ = try await bench.client.perform(.readObject(bench.object)) }
            let before = bench.cloud.version(of: bench.object)
            bench.cloud.fail(fault.fault)
            let error = await #expect(throws: CurlError.self) {
                try await bench.client.perform(.replaceObject(bench.object, ["temp": 22]))
            }
            #expect(
                error?.wasSent == fault.wasSent && error?.description.contains(fault.error) == true,
                "\(String(describing: error))")
            #expect(bench.cloud.version(of: bench.object) == before + (fault.isDone ? 1 : 0), "sent once")
            // The next one is none the worse for it.
            try await bench.client.perform(.replaceObject(bench.object, ["temp": 23]))
        }
        #expect(bench.cloud.violations == [])
        await bench.transport.close()
        try await eventually("closed") { bench.server.openConnections == 0 }
    }

    @Test("an answer of exactly the largest size is taken")
    func largest() async throws {
        let bench = try bench()
        bench.cloud.fail(.largeBody(4096))
        let request = try CloudRequest.readObject(bench.object).request(to: bench.server.app, token: bench.token)
        #expect(try await bench.transport.send(request).body.count == 4096)
        await bench.transport.close()
    }

    @Test("where nobody listens nothing was sent, and the error says so")
    func nobody() async throws {
        let bench = try bench()
        bench.server.stop()
        try await eventually("stopped") { bench.server.openConnections == 0 }
        let error = await #expect(throws: CurlError.self) { try await bench.client.perform(.createTopic(bench.topic)) }
        #expect(error?.wasSent == false && error?.description.hasPrefix("the server was not reached: ") == true)
        await bench.transport.close()
    }
}
#endif
