#if HTTP
import KiiCloud
import KiiCloudHTTP
import KiiCloudTesting
import KiiPush
import Testing

/// The code of the guides and the doc comments, so that it compiles and does what they say.
@Suite("Documented transport")
struct DocumentedTransportTests {
    @Test("the guide's client is made without a word to anybody")
    func client() async throws {
        let (key, token) = (Secret("k"), Secret("t"))
        let transport = try CurlTransport()
        let client = KiiClient(KiiApp(.jp, id: "0123abcd", key: key), transport: transport, tokens: FixedToken(token))
        #expect(client.app.host == "api-jp.kii.com")
        await transport.close()
    }

    @Test("a test's cloud answers in the process, and behind a port")
    func cloud() async throws {
        do {
            let cloud = TestCloud()
            let token = cloud.logIn(.user(id: "u-1"))
            let client = KiiClient(cloud.app, transport: cloud, tokens: FixedToken(token))
            #expect(try await client.perform(.createTopic(KiiTopic(scope: .app, name: "t"))))
        }
        let server = try TestCloudServer(TestCloud())
        defer { server.stop() }
        let token = server.cloud.logIn(.user(id: "u-1"))
        var settings = CurlSettings()
        settings.usesPlainLoopback = true
        let transport = try CurlTransport(settings)
        let client = KiiClient(server.app, transport: transport, tokens: FixedToken(token))
        #expect(try await client.perform(.createTopic(KiiTopic(scope: .app, name: "t"))))
        await transport.close()
    }
}
#endif
