#if HTTP
import Foundation
import KiiCloud
import KiiCloudHTTP
import KiiCloudTesting
import Testing

/// Servers that are not Kii's: openssl's own, and nghttpd for HTTP/2.
@Suite("encrypted connections", .serialized, .timeLimit(.minutes(5)))
struct TLSTests {
    private let request = { (port: Int) in
        HTTPRequest(method: .get, host: "localhost:\(port)", path: "/")
    }

    /// A certificate of its own making for a name, its key, and the pin of the key.
    struct Certificate {
        let folder: URL
        let pin: String

        init(name: String) throws {
            folder = FileManager.default.temporaryDirectory.appending(path: "kiicloud-tls-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let script = """
                openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=\(name) \
                -addext subjectAltName=DNS:\(name) 2>/dev/null
                openssl x509 -in cert.pem -pubkey -noout | openssl pkey -pubin -outform der \
                | openssl dgst -sha256 -binary | base64
                """
            let process = Process()
            let output = Pipe()
            process.executableURL = URL(filePath: "/bin/sh")
            process.arguments = ["-c", script]
            process.currentDirectoryURL = folder
            process.standardOutput = output
            try process.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            pin = "sha256//" + text.trimmingCharacters(in: .whitespacesAndNewlines)
        }

        var file: String { folder.appending(path: "cert.pem").path }
    }

    /// A program that serves a folder over TLS until the test is over.
    final class Server {
        let port: Int
        private let process = Process()
        private let input = Pipe()

        /// Starts openssl's server, or nghttpd where one is asked for; nil when that is not installed.
        init?(_ certificate: Certificate, isHTTP2: Bool = false) async throws {
            port = try await Self.freePort()
            let folder = certificate.folder
            let path = isHTTP2 ? "/usr/sbin/nghttpd" : "/usr/bin/openssl"
            guard FileManager.default.isExecutableFile(atPath: path) else { return nil }
            process.executableURL = URL(filePath: path)
            process.currentDirectoryURL = folder
            process.arguments =
                isHTTP2
                ? ["--address=127.0.0.1", "--htdocs=\(folder.path)", "\(port)", "key.pem", "cert.pem"]
                : [
                    "s_server", "-accept", "127.0.0.1:\(port)", "-key", "key.pem", "-cert", "cert.pem", "-www",
                    "-quiet",
                ]
            process.standardInput = input
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
            try await eventually("\(path) listens") { Self.listens(port) }
        }

        deinit {
            // By the one signal that no mask keeps from it: it has that of the thread that it was started on.
            if process.processIdentifier > 0 { kill(process.processIdentifier, SIGKILL) }
        }

        private static func freePort() async throws -> Int {
            // A cloud's server finds one, and lets go of it.
            let server = try TestCloudServer(TestCloud())
            server.stop()
            try await eventually("the port is free") { !listens(server.port) }
            return server.port
        }

        private static func listens(_ port: Int) -> Bool {
            let text = (try? String(contentsOfFile: "/proc/net/tcp", encoding: .utf8)) ?? ""
            return text.contains(String(format: ":%04X 00000000:0000 0A", port))
        }
    }

    private func send(
        _ server: Server, _ change: (inout CurlSettings) -> Void
    ) async throws -> Result<Int, CurlError> {
        var settings = CurlSettings()
        change(&settings)
        let transport = try CurlTransport(settings)
        defer { Task { await transport.close() } }
        do { return .success(try await transport.send(request(server.port)).status) } catch let error as CurlError {
            return .failure(error)
        }
    }

    @Test("a server must prove its name, and have the pinned key")
    func trust() async throws {
        let (right, other) = (try Certificate(name: "localhost"), try Certificate(name: "example.test"))
        let server = try #require(try await Server(right))
        #expect(try await send(server) { $0.caFile = right.file } == .success(200))
        #expect(
            try await send(server) {
                $0.caFile = right.file
                $0.pinnedKeys = [other.pin, right.pin]
            } == .success(200))
        let refused: [(inout CurlSettings) -> Void] = [
            { _ in }, { $0.caFile = other.file }, { $0.caFile = "/nowhere" },
            {
                $0.caFile = right.file
                $0.pinnedKeys = [other.pin]
            },
        ]
        for change in refused {
            guard case .failure(let error) = try await send(server, change) else {
                Issue.record("it was trusted")
                continue
            }
            #expect(!error.wasSent && error.description.hasPrefix("the server was not reached: "), "\(error)")
        }
    }

    @Test("a certificate of another name is refused, though its issuer is trusted")
    func name() async throws {
        let certificate = try Certificate(name: "example.test")
        let server = try #require(try await Server(certificate))
        guard case .failure(.unreachable(let why)) = try await send(server, { $0.caFile = certificate.file }) else {
            Issue.record("it was trusted")
            return
        }
        #expect(why.contains("name"), "\(why)")
    }

    @Test("HTTP/2 is spoken where the server has it, and many requests share one connection")
    func http2() async throws {
        let certificate = try Certificate(name: "localhost")
        guard let server = try await Server(certificate, isHTTP2: true) else {
            print("nghttpd is not installed, so HTTP/2 was not tried; apt-get install nghttp2-server")
            return
        }
        var settings = CurlSettings()
        settings.caFile = certificate.file
        let transport = try CurlTransport(settings)
        let port = server.port
        // nghttpd speaks nothing but HTTP/2.
        try await withThrowingTaskGroup { group in
            for _ in 1...50 {
                group.addTask {
                    let file = HTTPRequest(method: .get, host: "localhost:\(port)", path: "/cert.pem")
                    return try await transport.send(file).body.count
                }
            }
            for try await count in group { #expect(count > 500) }
        }
        #expect((1...8).contains(openConnections(to: port)))
        await transport.close()
    }
}
#endif
