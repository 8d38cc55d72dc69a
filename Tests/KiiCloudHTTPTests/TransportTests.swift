#if HTTP
import Glibc
import KiiCloud
import KiiCloudTesting
import KiiPush
import Synchronization
import Testing

@testable import KiiCloudHTTP
@testable import KiiPushTestSupport

@Suite("the transport itself", .serialized, .timeLimit(.minutes(5)))
struct TransportTests {
    @Test("requests one after the other share a connection; many at once share at most as many as allowed")
    func keepAlive() async throws {
        let bench = try Bench { $0.mostAtOnce = 4 }
        for _ in 1...20 { _ = try await bench.client.perform(.readObject(bench.object)) }
        #expect(bench.server.acceptedConnections == 1)
        try await withThrowingTaskGroup { group in
            for number in 1...200 {
                group.addTask {
                    let object = KiiObject(bucket: bench.bucket, id: "n-\(number)")
                    try await bench.client.perform(.writeObject(object, .create(["n": .integer(number)])))
                }
            }
            try await group.waitForAll()
        }
        #expect(bench.server.acceptedConnections <= 4)
        #expect(bench.cloud.fields(of: KiiObject(bucket: bench.bucket, id: "n-200")) == ["n": 200])
    }

    @Test("thousands of requests, half of them cancelled, leave no connection behind")
    func leaks() async throws {
        let bench = try Bench()
        _ = try await bench.client.perform(.readObject(bench.object))
        let counts = Counts()
        for round in 0..<10 {
            bench.cloud.fail(.stall(.work), .stall(.headers), .slow)
            let tasks = (0..<400).map { _ in
                Task {
                    do {
                        _ = try await bench.client.perform(.readObject(bench.object))
                        counts.value.withLock { $0.answered += 1 }
                    } catch is CancellationError { counts.value.withLock { $0.cancelled += 1 } }
                }
            }
            try await eventually("some came") { bench.cloud.requests.count > round }
            for task in tasks { task.cancel() }
            for task in tasks { try await task.value }
            bench.cloud.stopFailing()
        }
        #expect(counts.value.withLock { $0.answered + $0.cancelled } == 4000)
        #expect(counts.value.withLock { $0.cancelled } > 0)
        _ = try await bench.client.perform(.readObject(bench.object))
        await bench.transport.close()
        try await eventually("closed") { bench.server.openConnections == 0 }
        bench.server.stop()
    }

    private final class Counts: Sendable { let value = Mutex((answered: 0, cancelled: 0)) }

    @Test("all descriptors are closed when the transport is closed, released or idle", arguments: 0..<3)
    func descriptors(way: Int) async {
        // In a process of its own: other tests open descriptors of this one.
        await #expect(processExitsWith: .success) { [way] in
            // The first one sets up the libraries, which keep some for good.
            let warm = try Bench()
            _ = try await warm.client.perform(.readObject(warm.object))
            await warm.transport.close()
            try await eventually("closed") { warm.server.openConnections == 0 }
            let before = openDescriptors()
            do {
                let bench = try Bench { if way == 2 { $0.idleLimit = .milliseconds(1) } }
                for _ in 1...3 { _ = try await bench.client.perform(.readObject(bench.object)) }
                if way == 0 { await bench.transport.close() }
                if way == 2 { try await eventually("idle") { bench.server.openConnections == 0 } }
                if way == 2 { _ = try await bench.client.perform(.readObject(bench.object)) }
            }
            try await eventually("all closed") { openDescriptors().subtracting(before).isEmpty }
        }
    }

    @Test("requests that find no room are refused at once, and those that wait too long are not sent")
    func room() async throws {
        let bench = try Bench {
            $0.mostAtOnce = 1
            $0.mostWaiting = 1
            $0.requestLimit = .seconds(2)
        }
        bench.cloud.fail(.stall(.work), .stall(.work))
        let first = Task { try await bench.client.perform(.createTopic(bench.topic)) }
        try await eventually("it is there") { bench.cloud.requests.count == 1 }
        let others = (1...4).map { _ in Task { try await bench.client.perform(.createTopic(bench.topic)) } }
        var errors: [CurlError] = []
        for task in others {
            do { _ = try await task.value } catch let error as CurlError { errors.append(error) }
        }
        // One waits, and comes to the front when there is hardly any time left.
        #expect(errors.filter { $0 == .full(waiting: 1) }.count == 3, "\(errors)")
        #expect(errors.contains { if case .timedOut = $0 { true } else { false } }, "\(errors)")
        await #expect(throws: CurlError.timedOut(wasSent: true)) { try await first.value }
        await bench.transport.close()
        await #expect(throws: CurlError.closed) { try await bench.client.perform(.createTopic(bench.topic)) }
    }

    @Test("what could lead a token elsewhere is refused before anything is sent")
    func addresses() async throws {
        var settings = CurlSettings()
        #expect(throws: CurlError.self) { try RequestAddress(HTTPRequest(method: .get, host: "", path: "/"), settings) }
        for host in ["u@h", "h/x", "h?x", "h#x", "h x", "h\r\nX: y", "é"] {
            let request = HTTPRequest(method: .get, host: host, path: "/")
            #expect(throws: CurlError.self) { try RequestAddress(request, settings) }
        }
        for path in ["", "x", "@evil/", "/a b", "/a#b", "/a\r\n", "/é"] {
            let request = HTTPRequest(method: .get, host: "h", path: path)
            #expect(throws: CurlError.self) { try RequestAddress(request, settings) }
        }
        let split = HTTPRequest(method: .get, host: "h", path: "/", headers: [HTTPHeader("X", "1\r\nY: 2")])
        #expect(throws: CurlError.self) { try RequestAddress(split, settings) }
        func url(_ host: String) throws -> String {
            try RequestAddress(HTTPRequest(method: .get, host: host, path: "/x"), settings).url
        }
        #expect(try url("127.0.0.1:80") == "https://127.0.0.1:80/x")
        settings.usesPlainLoopback = true
        for host in ["127.0.0.1:80", "localhost", "[::1]:9"] { #expect(try url(host) == "http://\(host)/x") }
        for host in ["127.0.0.1.evil.example", "localhost.example:80", "api.kii.com", "127.0.0.2", "[::1]x"] {
            #expect(try url(host).hasPrefix("https://"), "\(host)")
        }
    }

    @Test("bounds of any size work", arguments: [(8, Int.max), (.max, 1000), (.max, .max)])
    func largestBounds(atOnce: Int, waiting: Int) async throws {
        let bench = try Bench { ($0.mostAtOnce, $0.mostWaiting) = (atOnce, waiting) }
        #expect(try await bench.client.perform(.readObject(bench.object)) == nil)
    }

    @Test("useless settings are refused")
    func settings() {
        let changes: [(inout CurlSettings) -> Void] = [
            { $0.requestLimit = .zero }, { $0.connectLimit = .zero }, { $0.mostAtOnce = 0 }, { $0.bodyLimit = -1 },
            { $0.caFile = "" }, { $0.pinnedKeys = ["sha256//short="] }, { $0.pinnedKeys = [""] },
        ]
        for change in changes {
            var settings = CurlSettings()
            change(&settings)
            #expect(throws: CurlError.self) { try CurlTransport(settings) }
        }
    }

    @Test("no error shows a token, a key or a body")
    func secrets() async throws {
        let bench = try Bench { $0.requestLimit = .milliseconds(200) }
        for fault in [TestFault.close(.answer), .rubbish, .stall(.body), .largeHeaders(100_000)] {
            bench.cloud.fail(fault)
            let error = await #expect(throws: CurlError.self) {
                try await bench.client.perform(.writeObject(bench.object, .create(["secret": "in-the-body"])))
            }
            var dumped = ""
            dump(error, to: &dumped)
            for secret in [bench.token.revealed, "key-of-the-app", "in-the-body"] {
                #expect(!dumped.contains(secret) && !String(describing: error).contains(secret))
            }
        }
    }

    @Test(
        "an unusable proxy is named by its variable, and not by its address, which may have a password",
        arguments: ["syntax in 'http://user:s3cret@[h'", "scheme for 'ftp://user:s3cret@h'", "'https://user:s3cret@h'"])
    func proxy(message: String) {
        let variable = "https_proxy or all_proxy is not the address of a proxy"
        #expect(Transfer.shown("Unsupported proxy \(message)") == variable)
        #expect(Transfer.shown("Could not resolve proxy: h\u{1B}") == "Could not resolve proxy: h")
    }
}
#endif
