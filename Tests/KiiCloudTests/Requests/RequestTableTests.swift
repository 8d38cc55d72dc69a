import KiiPush
import Testing

@testable import KiiCloud

/// A request as a table shows it: its line, the headers that are its own, and its body.
private struct Line: Sendable, CustomTestStringConvertible {
    let line: String
    let headers: [String]
    let body: String
    let make: @Sendable () throws -> HTTPRequest

    init<Answer>(
        _ line: String, _ headers: [String] = [], _ body: String = "",
        _ request: @escaping @Sendable () -> CloudRequest<Answer>
    ) {
        self.line = line
        self.headers = headers
        self.body = body
        make = { try request().request(to: Cloud.app, token: Cloud.token) }
    }

    var testDescription: String { line }
}

enum Cloud {
    static let app = KiiApp(.jp, id: "5ab07c11", key: Secret("key-of-the-app"))
    static let token = Secret("token-of-a-user")
    static let user = KiiUser(id: "727f20b00022-8d18-5e11-991f-06db2509")
    static let thing = KiiThing(id: "th.53ae324be5a0")
    static let bucket = KiiBucket(scope: .user(user), name: "settings")
    static let object = KiiObject(bucket: bucket, id: "o-1")
    static let topic = KiiTopic(scope: .group(KiiGroup(id: "g-5")), name: "doors")

    static func command(_ actions: String) throws -> ThingCommand {
        let text = #"{"commandID":"c-1","actions":\#(actions)}"#
        return try #require(DirectPushMessage(try PushMessage(RawPayload(text, transport: .mqtt)))?.command)
    }
}

@Suite("each request, as Kii documents it")
struct RequestTableTests {
    private static let json = "Content-Type: application/json"
    private static let objectPath = "/users/727f20b00022-8d18-5e11-991f-06db2509/buckets/settings/objects"
    private static let subscription = "/push/subscriptions/users/727f20b00022-8d18-5e11-991f-06db2509"

    private static let lines: [Line] = [
        Line("GET \(objectPath)/o-1") { CloudRequest.readObject(Cloud.object) },
        Line("POST \(objectPath)", [json], #"{"temp":21}"#) {
            CloudRequest.createObject(in: Cloud.bucket, ["temp": 21])
        },
        Line("PUT \(objectPath)/o-1", [json, "If-None-Match: *"], #"{"temp":21}"#) {
            CloudRequest.writeObject(Cloud.object, .create(["temp": 21]))
        },
        Line("PUT \(objectPath)/o-1", [json], #"{"temp":21.5}"#) {
            CloudRequest.writeObject(Cloud.object, .replace(["temp": 21.5]))
        },
        Line("PUT \(objectPath)/o-1", [json, "If-Match: 3"], "{}") {
            CloudRequest.writeObject(Cloud.object, .replace([:], ifMatch: "3"))
        },
        Line("POST \(objectPath)/o-1", [json, "X-HTTP-Method-Override: PATCH"], #"{"on":true}"#) {
            CloudRequest.writeObject(Cloud.object, .patch(["on": true]))
        },
        Line("POST \(objectPath)/o-1", [json, "X-HTTP-Method-Override: PATCH", "If-Match: 3"], #"{"on":true}"#) {
            CloudRequest.writeObject(Cloud.object, .patch(["on": true], ifMatch: "3"))
        },
        Line("DELETE \(objectPath)/o-1") { CloudRequest.deleteObject(Cloud.object) },
        Line("DELETE \(objectPath)/o-1", ["If-Match: 3"]) { CloudRequest.deleteObject(Cloud.object, ifMatch: "3") },
        Line("GET /buckets/CRYPTO:safe/objects/o") {
            CloudRequest.readObject(KiiObject(bucket: .init(scope: .app, name: "safe", type: .crypto), id: "o"))
        },
        Line("GET /things/VENDOR_THING_ID:4649/buckets/b/objects/a%20b%2F%C3%A9") {
            let thing = KiiThing(id: "VENDOR_THING_ID:4649")
            return CloudRequest.readObject(KiiObject(bucket: .init(scope: .thing(thing), name: "b"), id: "a b/é"))
        },
        Line(
            "POST /groups/g-5/topics/doors/push/messages",
            [
                "Content-Type: application/vnd.kii.SendPushMessageRequest+json",
                "Accept: application/vnd.kii.SendPushMessageResponse+json",
            ], OutgoingMessage(data: ["text": "hi"]).body
        ) { CloudRequest.send(OutgoingMessage(data: ["text": "hi"]), to: Cloud.topic) },
        Line("PUT /groups/g-5/topics/doors") { CloudRequest.createTopic(Cloud.topic) },
        Line("PUT /topics/t\(subscription)") {
            CloudRequest.subscribe(.user(Cloud.user), to: .topic(KiiTopic(scope: .app, name: "t")))
        },
        Line("DELETE /groups/g-5/topics/doors/push/subscriptions/things/th.53ae324be5a0") {
            CloudRequest.unsubscribe(.thing(Cloud.thing), from: .topic(Cloud.topic))
        },
        Line("PUT /buckets/news/filters/all\(subscription)") {
            CloudRequest.subscribe(.user(Cloud.user), to: .bucket(KiiBucket(scope: .app, name: "news")))
        },
        Line("DELETE /buckets/news/filters/all\(subscription)") {
            CloudRequest.unsubscribe(.user(Cloud.user), from: .bucket(KiiBucket(scope: .app, name: "news")))
        },
        Line("GET /users/727f20b00022-8d18-5e11-991f-06db2509") { CloudRequest.readUser(Cloud.user) },
        Line("GET /groups/g-5", ["Accept: application/vnd.kii.GroupRetrievalResponse+json"]) {
            CloudRequest.readGroup(KiiGroup(id: "g-5"))
        },
        Line("GET /things/th.53ae324be5a0", ["Accept: application/vnd.kii.ThingRetrievalResponse+json"]) {
            CloudRequest.readThing(Cloud.thing)
        },
        Line(
            "POST /installations", ["Content-Type: application/vnd.kii.InstallationCreationRequest+json"],
            #"{"deviceType":"MQTT","development":true}"#
        ) { CloudRequest.install(isDevelopment: true) },
        Line(
            "POST /installations", ["Content-Type: application/vnd.kii.InstallationCreationRequest+json"],
            #"{"deviceType":"MQTT","development":false,"thingID":"th.53ae324be5a0"}"#
        ) { CloudRequest.install(isDevelopment: false, of: Cloud.thing) },
        Line("DELETE /installations/i-1") { CloudRequest.uninstall("i-1") },
        Line("GET /installations/i-1/mqtt-endpoint") { CloudRequest.mqttEndpoint(of: "i-1") },
    ]

    @Test("request line, headers and body", arguments: lines)
    private func table(line: Line) throws {
        let request = try line.make()
        let (method, path) = (request.method.rawValue, "/api/apps/5ab07c11")
        #expect("\(method) \(request.path)" == line.line.replacingFirst(" ", with: " \(path)"))
        #expect(request.host == "api-jp.kii.com")
        let headers = request.headers.map { "\($0.name): \($0.value)" }
        #expect(
            headers.prefix(3) == [
                "Authorization: Bearer token-of-a-user", "X-Kii-AppID: 5ab07c11", "X-Kii-AppKey: key-of-the-app",
            ])
        #expect(headers.dropFirst(3).elementsEqual(line.headers), "\(headers)")
        #expect(String(decoding: request.body, as: UTF8.self) == line.body)
        #expect(request.body.isEmpty || request[header: "content-type"] != nil)
    }

    @Test(
        "results of a command are reported in the command's own dialect",
        arguments: [
            (
                #"[{"turnPower":{"power":true}},{"setColor":[1]}]"#,
                #"{"actionResults":[{"turnPower":{"succeeded":true}},{"setColor":{"succeeded":false,"errorMessage":"no lamp"}}]}"#
            ),
            (
                #"[{"air":[{"turnPower":true},{"setTemp":25}]}]"#,
                #"{"actionResults":[{"air":[{"turnPower":{"succeeded":true}},{"setTemp":{"succeeded":false,"errorMessage":"no lamp"}}]}]}"#
            ),
            (
                #"[{"air":[{"turnPower":true}]},{"damp":[{"set":45}]}]"#,
                #"{"actionResults":[{"air":[{"turnPower":{"succeeded":true}}]},{"damp":[{"set":{"succeeded":false,"errorMessage":"no lamp"}}]}]}"#
            ),
            (
                "[{\"air\u{E9}\":[{\"set\":1}]},{\"aire\u{301}\":[{\"set\":1}]}]",
                "{\"actionResults\":[{\"air\u{E9}\":[{\"set\":{\"succeeded\":true}}]},"
                    + "{\"aire\u{301}\":[{\"set\":{\"succeeded\":false,\"errorMessage\":\"no lamp\"}}]}]}"
            ),
        ])
    func results(actions: String, body: String) throws {
        let schema = actions.contains("air") ? "" : #","schema":"s","schemaVersion":1"#
        let command = try Cloud.command(actions + schema)
        let results = [ActionResult.done(command.actions[0]), .failed(command.actions[1], "no lamp")]
        let call = CloudRequest.report(results, of: command, as: Cloud.thing)
        let request = try call.request(to: Cloud.app, token: Cloud.token)
        let path = "/thing-if/apps/5ab07c11/targets/thing:th.53ae324be5a0/commands/c-1/action-results"
        #expect(request.method == .put && request.path == path)
        #expect(request.headers.last?.value == "application/json")
        #expect(request.body == Array(body.utf8))
        try call.answer(HTTPResponse(status: 204))
    }

    @Test("an id that leads elsewhere, a line end and what is no number are not sent", arguments: ["", ".", ".."])
    func unsendable(id: String) throws {
        let request = CloudRequest.readObject(KiiObject(bucket: Cloud.bucket, id: id))
        let error = try #require(throws: CloudError.self) { try request.request(to: Cloud.app, token: Cloud.token) }
        #expect(error.code == .unsendable && error.status == 0)
        let fine = CloudRequest.deleteObject(Cloud.object)
        for token in ["a\nb", "", "é"] {
            #expect(throws: CloudError.self) { try fine.request(to: Cloud.app, token: Secret(token)) }
        }
        let broken = CloudRequest.deleteObject(Cloud.object, ifMatch: "3\r\nX: y")
        #expect(throws: CloudError.self) { try broken.request(to: Cloud.app, token: Cloud.token) }
        let writes: [ObjectWrite] = [.create(["n": .double(.nan)]), .patch(["n": .array([.number("01")])])]
        for write in writes {
            let call = CloudRequest.writeObject(Cloud.object, write)
            let error = #expect(throws: CloudError.self) { try call.request(to: Cloud.app, token: Cloud.token) }
            #expect(error?.code == .unsendable && error?.message.contains("a number") == true)
        }
    }
}

extension String {
    fileprivate func replacingFirst(_ mark: Character, with text: String) -> String {
        guard let place = firstIndex(of: mark) else { return self }
        return self[..<place] + text + self[index(after: place)...]
    }
}
