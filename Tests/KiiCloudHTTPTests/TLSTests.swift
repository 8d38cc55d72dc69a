#if HTTP
import Glibc
import KiiCloud
import KiiCloudHTTP
import Testing

@testable import KiiPushTestSupport

/// Servers that are not Kii's: openssl's own, and nghttpd for HTTP/2.
@Suite("encrypted connections", .serialized, .timeLimit(.minutes(5)))
struct TLSTests {
    private let request = { (port: Int) in
        HTTPRequest(method: .get, host: "localhost:\(port)", path: "/")
    }

    /// A certificate of its own making for a name, its key, and the pin of the key.
    struct Certificate {
        let folder: Folder
        let pin: String

        init(name: String) throws {
            folder = try Folder()
            let script = """
                cd \(folder.path)
                openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=\(name) \
                -addext subjectAltName=DNS:\(name) 2>/dev/null
                openssl x509 -in cert.pem -pubkey -noout | openssl pkey -pubin -outform der \
                | openssl dgst -sha256 -binary | base64
                """
            try run(["sh", "-c", script], output: folder["pin"])
            pin = "sha256//" + (try folder.read("pin")).filter { !$0.isWhitespace }
        }

        var file: String { folder["cert.pem"] }
    }

    /// A program that serves a folder over TLS until the test is over.
    final class Server {
        let port: Int
        private let process: pid_t

        /// Starts openssl's server, or nghttpd where one is asked for; nil when that is not installed.
        init?(_ certificate: Certificate, isHTTP2: Bool = false) async throws {
            let path = isHTTP2 ? "/usr/sbin/nghttpd" : "/usr/bin/openssl"
            guard unsafe access(path, X_OK) == 0 else { return nil }
            let (folder, port) = (certificate.folder, try Loopback.freePort())
            let (key, file) = (folder["key.pem"], folder["cert.pem"])
            let arguments =
                isHTTP2
                ? ["--address=127.0.0.1", "--htdocs=\(folder.path)", "\(port)", key, file]
                : ["s_server", "-accept", "127.0.0.1:\(port)", "-key", key, "-cert", file, "-www", "-quiet"]
            process = try spawn([path] + arguments, output: folder["log"])
            self.port = port
            try await eventually("\(path) listens") { Loopback.listens(port) }
        }

        deinit {
            kill(process, SIGKILL)
            waitpid(process, nil, 0)
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
