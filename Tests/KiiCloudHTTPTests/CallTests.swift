#if HTTP
import KiiCloud
import KiiCloudHTTP
import KiiCloudTesting
import KiiPush
import Testing

@Suite("each documented call, over the wire to a strict server", .timeLimit(.minutes(5)))
struct CallTests {
    @Test("objects are created, read, replaced, patched and deleted by their versions")
    func objects() async throws {
        let bench = try Bench()
        let (client, object) = (bench.client, bench.object)
        #expect(try await client.perform(.readObject(object)) == nil)
        let made = try await client.perform(.createObject(in: bench.bucket, ["temp": 20]))
        #expect(made.isNew && made.version == "1" && made.modifiedAt != nil)
        let created = try await client.write(object, .create(["temp": 21, "text": "é\n\u{0}"]))
        #expect(created.isNew && created.version == "1")
        let again = await #expect(throws: CloudError.self) { try await client.write(object, .create([:])) }
        #expect(again?.code == .objectAlreadyExists)
        let patched = try await client.write(object, .patch(["temp": 22], ifMatch: "1"))
        #expect(patched.version == "2" && !patched.isNew)
        let record = try #require(try await client.perform(.readObject(object)))
        #expect(record["temp"] == 22 && record["text"] == "é\n\u{0}" && record.version == "2" && record.owner == "u-1")
        #expect(record.modifiedAt == patched.modifiedAt)
        let stale = await #expect(throws: CloudError.self) {
            try await client.write(object, .replace([:], ifMatch: "1"))
        }
        #expect(stale?.code == .objectVersionIsStale)
        try await client.write(object, .replace(["temp": 23], ifMatch: "2"))
        #expect(bench.cloud.fields(of: object) == ["temp": 23])
        #expect(try await client.perform(.deleteObject(object, ifMatch: "3")))
        #expect(try await !client.perform(.deleteObject(object)))
        #expect(bench.cloud.violations == [])
    }

    @Test("topics and subscriptions are made and removed, and a push reaches the subscribers")
    func topics() async throws {
        let bench = try Bench()
        let (client, topic, user) = (bench.client, bench.topic, PushSubscriber.user(bench.user))
        #expect(try await client.perform(.createTopic(topic)))
        #expect(try await !client.perform(.createTopic(topic)))
        try await client.write(bench.object, .create([:]))
        for source in [PushSource.topic(topic), .bucket(bench.bucket)] {
            #expect(try await client.perform(.subscribe(user, to: source)))
            #expect(try await !client.perform(.subscribe(user, to: source)))
            #expect(bench.cloud.isSubscribed(user, to: source))
        }
        let id = try await client.send(OutgoingMessage(data: ["text": "hi"]), to: topic, as: .user(bench.user))
        #expect(id.text.hasPrefix("push-"))
        try await client.write(bench.object, .patch(["on": true]))
        let pushes = try bench.cloud.takePushes(for: user).map { try PushMessage($0) }
        #expect(pushes.map(\.kind) == [.pushToUser, .pushToApp])
        #expect(pushes.first?.topic == topic && pushes.first?.data["text"] == "hi")
        for source in [PushSource.topic(topic), .bucket(bench.bucket)] {
            #expect(try await client.perform(.unsubscribe(user, from: source)))
            #expect(try await !client.perform(.unsubscribe(user, from: source)))
        }
        #expect(bench.cloud.violations == [])
    }

    @Test("users, groups and things are read, devices installed, and results reported")
    func owners() async throws {
        let bench = try Bench()
        let (client, group, thing) = (bench.client, KiiGroup(id: "g-5"), KiiThing(id: "th.53ae324be5a0"))
        bench.cloud.set(.user(bench.user), ["loginName": "ann"])
        bench.cloud.set(.group(group), ["name": "home"])
        bench.cloud.set(.thing(thing), ["_vendorThingID": "v-1"])
        #expect(try await client.perform(.readUser(bench.user))?["loginName"] == "ann")
        #expect(try await client.perform(.readGroup(group))?["name"] == "home")
        #expect(try await client.perform(.readThing(thing))?["_vendorThingID"] == "v-1")
        #expect(try await client.perform(.readThing(KiiThing(id: "VENDOR_THING_ID:v/2 é"))) == nil)
        let installed = try await client.perform(.install(isDevelopment: true, of: thing))
        bench.cloud.fail(.status(503, retryAfter: 0))
        let endpoint = try await client.mqttEndpoint(of: installed.id)
        #expect(endpoint?.host == "mqtt.cloud.test" && endpoint?.portSSL == 8883)
        #expect(try await client.perform(.uninstall(installed.id)))
        #expect(try await !client.perform(.uninstall(installed.id)))
        let push = try PushMessage(
            RawPayload(#"{"commandID":"c-1","actions":[{"on":true}],"schema":"s","schemaVersion":1}"#, transport: .mqtt)
        )
        let command = try #require(DirectPushMessage(push)?.command)
        try await client.perform(.report([.done(command.actions[0])], of: command, as: thing))
        #expect(bench.cloud.violations == [])
    }

    @Test("a request that Kii does not document is refused, and listed")
    func strict() async throws {
        let bench = try Bench()
        let app = bench.server.app
        let path = "/api/apps/\(app.id)/users/u-1/buckets/b/objects/o"
        let common = [
            HTTPHeader("Authorization", "Bearer \(bench.token.revealed)"), HTTPHeader("X-Kii-AppID", app.id),
            HTTPHeader("X-Kii-AppKey", app.key.revealed),
        ]
        let wrong: [(HTTPRequest.Method, String, [HTTPHeader], String, String)] = [
            (.get, path, Array(common.dropFirst()), "", "no header authorization"),
            (.get, path, common + [HTTPHeader("X-More", "1")], "", "x-more is not documented"),
            (.get, path, common + common.prefix(1), "", "authorization comes twice"),
            (.put, path, common, "{}", "Content-Type is not application/json"),
            (.put, path, common + [HTTPHeader("Content-Type", "application/json")], "[1]", "no JSON object"),
            (.post, path, common + [HTTPHeader("Content-Type", "application/json")], "{}", "not overridden"),
            (.get, "/api/apps/other/users/u-1", common, "", "a path that is not documented"),
            (.get, "/api/apps/\(app.id)/users/u-1/nothing/x", common, "", "a path that is not documented"),
            (.delete, "/api/apps/\(app.id)/users/u-1", common, "", "a method that is not documented"),
        ]
        for (method, path, headers, body, what) in wrong {
            let request = HTTPRequest(
                method: method, host: app.host, path: path, headers: headers, body: Array(body.utf8))
            #expect(try await bench.transport.send(request).status == 400, "\(what)")
            #expect(bench.cloud.violations.last?.contains(what) == true, "\(what): \(bench.cloud.violations)")
        }
        bench.cloud.fail(.status(503, code: "LOCK_FAILED", retryAfter: 7))
        let busy = try await bench.transport.send(
            HTTPRequest(method: .get, host: app.host, path: path, headers: common))
        #expect(busy.status == 503 && busy[header: "Retry-After"] == "7")
    }
}

/// The code of the guides and the doc comments, so that it compiles and does what they say.
@Suite("Documented transport")
struct DocumentedTransportTests {
    @Test("making the guide's client sends no request")
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
