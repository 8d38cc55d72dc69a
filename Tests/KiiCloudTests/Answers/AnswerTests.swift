import KiiPush
import Testing

@testable import KiiCloud

@Suite("the answers of Kii's cloud")
struct AnswerTests {
    private func response(_ status: Int, _ body: String = "", _ headers: [HTTPHeader] = []) -> HTTPResponse {
        HTTPResponse(status: status, headers: headers, body: Array(body.utf8))
    }

    private func refusal(_ status: Int, _ code: String) -> HTTPResponse {
        response(status, #"{"errorCode":"\#(code)","message":"words"}"#)
    }

    @Test("an object has its fields, its version and its times")
    func object() throws {
        let body = #"""
            {"score":5000,"name":"game1","_kl":"1;1;x","_created":1337039114613,"_id":"o-1","_modified":1337040183711,
             "_owner":"u-9","_dataType":"mydata","_version":"3"}
            """#
        let read = CloudRequest.readObject(Cloud.object)
        let record = try #require(try read.answer(response(200, body, [HTTPHeader("etag", "\"4\"")])))
        #expect(record.fields.members.map(\.key) == ["score", "name", "_kl"] && record["score"] == 5000)
        #expect(record.version == "4" && record.createdAt == 1_337_039_114_613 && record.owner == "u-9")
        #expect(record.modifiedAt == 1_337_040_183_711 && record.object == Cloud.object)
        #expect(try read.answer(response(200, body))?.version == "3")
        #expect(try read.answer(response(200, body, [HTTPHeader("ETag", "W/\"5\"")]))?.version == "5")
    }

    @Test("a deleted object is an answer; a bucket that is not there is an error")
    func gone() throws {
        let read = CloudRequest.readObject(Cloud.object)
        #expect(try read.answer(refusal(404, "OBJECT_NOT_FOUND")) == nil)
        let error = try #require(throws: CloudError.self) { try read.answer(refusal(404, "BUCKET_NOT_FOUND")) }
        #expect(error.code == "BUCKET_NOT_FOUND" && error.status == 404 && error.message == "words")
    }

    @Test("a write says whether the object is new, its version, and when it happened")
    func written() throws {
        let created = try CloudRequest.createObject(in: Cloud.bucket, [:]).answer(
            response(201, #"{"objectID":"o-77","createdAt":1700,"dataType":"x"}"#, [HTTPHeader("ETag", "\"1\"")]))
        #expect(created.object.id == "o-77" && created.isNew && created.version == "1" && created.modifiedAt == 1700)
        let replaced = try CloudRequest.writeObject(Cloud.object, .replace([:])).answer(
            response(200, #"{"modifiedAt":1800}"#, [HTTPHeader("ETag", "\"2\"")]))
        #expect(!replaced.isNew && replaced.version == "2" && replaced.modifiedAt == 1800)
        let patched = try CloudRequest.writeObject(Cloud.object, .patch([:])).answer(
            response(200, #"{"a":1,"_created":1,"_modified":1900,"_version":"3"}"#))
        #expect(patched.version == "3" && patched.modifiedAt == 1900 && patched.object == Cloud.object)
        #expect(try CloudRequest.writeObject(Cloud.object, .replace([:])).answer(response(201, "{}")).isNew)
        let error = try #require(throws: CloudError.self) {
            try CloudRequest.writeObject(Cloud.object, .patch([:])).answer(refusal(409, "OBJECT_VERSION_IS_STALE"))
        }
        #expect(error.code == .objectVersionIsStale && !error.isTemporary)
    }

    static let questions: [(String, CloudRequest<Bool>, Int, String)] = [
        ("delete an object", .deleteObject(Cloud.object), 404, "OBJECT_NOT_FOUND"),
        ("create a topic", .createTopic(Cloud.topic), 409, "TOPIC_ALREADY_EXISTS"),
        (
            "subscribe", .subscribe(.user(Cloud.user), to: .topic(Cloud.topic)), 409,
            "PUSH_SUBSCRIPTION_ALREADY_EXISTS"
        ),
        (
            "subscribe, as a guide has it", .subscribe(.user(Cloud.user), to: .bucket(Cloud.bucket)), 404,
            "PUSH_SUBSCRIPTION_ALREADY_EXISTS"
        ),
        (
            "unsubscribe", .unsubscribe(.user(Cloud.user), from: .bucket(Cloud.bucket)), 404,
            "PUSH_SUBSCRIPTION_NOT_FOUND"
        ),
        ("uninstall", .uninstall("i-1"), 404, "INSTALLATION_NOT_FOUND"),
    ]

    @Test("a request that was done before is an answer, anything else an error", arguments: questions.indices)
    func booleans(number: Int) throws {
        let (name, request, status, code) = Self.questions[number]
        #expect(try request.answer(response(204)), "\(name)")
        #expect(try !request.answer(refusal(status, code)), "\(name)")
        for (status, code) in [(404, "APP_NOT_FOUND"), (401, "UNAUTHORIZED"), (500, "UNDEFINED_ERROR"), (302, "MOVED")]
        {
            let error = try #require(throws: CloudError.self) { try request.answer(refusal(status, code)) }
            #expect(error.code.name == code, "\(name)")
        }
    }

    @Test("a success of a server that is not Kii's is none, also where nothing of an answer is needed")
    func notOfKii() throws {
        let command = try Cloud.command(#"[{"light":{}}],"schema":"s","schemaVersion":1"#)
        let results = CloudRequest.report([], of: command, as: Cloud.thing)
        var calls: [(HTTPResponse) throws -> Void] = [
            { try results.answer($0) }, { _ = try CloudRequest.writeObject(Cloud.object, .patch([:])).answer($0) },
            { _ = try CloudRequest.writeObject(Cloud.object, .replace([:])).answer($0) },
            { _ = try CloudRequest.writeObject(Cloud.object, .create([:])).answer($0) },
        ]
        for question in Self.questions { calls.append { _ = try question.1.answer($0) } }
        for (number, call) in calls.enumerated() {
            for status in [200, 201] {
                for body in ["", "<html>sign in</html>", "[1,2]"] {
                    let answer = response(status, body)
                    #expect(throws: CloudError.self, "\(number): \(status) \(body)") { try call(answer) }
                }
            }
        }
    }

    @Test("a push that was sent has an id")
    func sent() throws {
        let request = CloudRequest.send(OutgoingMessage(), to: Cloud.topic)
        #expect(try request.answer(response(201, #"{"pushMessageID":"p-1"}"#)).text == "p-1")
        for body in ["{}", "[]", "", #"{"pushMessageID":""}"#, "{", "\u{FF}"] {
            let error = try #require(throws: CloudError.self) { try request.answer(response(201, body)) }
            #expect(error.code == .notUnderstood && error.status == 201, "\(body)")
        }
    }

    @Test("of equal keys in an answer the first counts, at every depth; an object may have 16,000 members")
    func equalKeys() throws {
        let many = (0..<16_000).map { #""k\#($0)":\#($0)"# }.joined(separator: ",")
        let body = #"{"_id":"o-1","own":{"a":1,"a":2},"own":3,\#(many)}"#
        let record = try CloudRequest.readObject(Cloud.object).answer(response(200, body))
        let fields = try #require(record).fields
        guard case .object(let own)? = fields["own"] else {
            Issue.record("the first value is no object")
            return
        }
        #expect(own.map(\.value.integer) == [1] && fields["k15999"]?.integer == 15_999)
    }

    @Test("users, groups and things have their fields, or are not there")
    func owners() throws {
        let body = #"{"_thingID":"th.1","_vendorThingID":"v","_stringField1":"x","own":[1]}"#
        let thing = try CloudRequest.readThing(Cloud.thing).answer(response(200, body))
        #expect(thing?["_vendorThingID"] == "v" && thing?.handle == Cloud.thing)
        #expect(try CloudRequest.readUser(Cloud.user).answer(refusal(404, "USER_NOT_FOUND")) == nil)
        #expect(try CloudRequest.readGroup(KiiGroup(id: "g")).answer(refusal(404, "GROUP_NOT_FOUND")) == nil)
        #expect(throws: CloudError.self) {
            try CloudRequest.readThing(Cloud.thing).answer(refusal(404, "APP_NOT_FOUND"))
        }
    }

    @Test("an installation has an id; its endpoint is not ready at first")
    func endpoint() throws {
        let installed = try CloudRequest.install(isDevelopment: true).answer(
            response(201, #"{"installationID":"i-1","installationRegistrationID":"r-1"}"#))
        #expect(installed == Installation(id: "i-1"))
        let request = CloudRequest.mqttEndpoint(of: "i-1")
        let early = HTTPResponse(
            status: 503, headers: [HTTPHeader("Retry-After", "3")],
            body: Array(#"{"errorCode":"MQTT_ENDPOINT_NOT_READY"}"#.utf8))
        #expect(try request.answer(early) == .notReady(retryAfter: 3))
        #expect(try request.answer(response(503)) == .notReady(retryAfter: nil))
        let body = #"""
            {"installationID":"i-1","username":"un","password":"pw","mqttTopic":"sFJGc3o0fmvSK8d3KRSMYZM",
             "host":"jp-mqtt-0a0b.kii.com","portTCP":1883,"portSSL":8883,"portWS":70000,"X-MQTT-TTL":2147483647}
            """#
        guard case .ready(let endpoint) = try request.answer(response(200, body)) else {
            Issue.record("no endpoint")
            return
        }
        #expect(endpoint.host == "jp-mqtt-0a0b.kii.com" && endpoint.portTCP == 1883 && endpoint.portSSL == 8883)
        #expect(endpoint.topic.revealed == "sFJGc3o0fmvSK8d3KRSMYZM" && endpoint.password.revealed == "pw")
        #expect(endpoint.userName.revealed == "un" && endpoint.secondsToLive == 2_147_483_647)
        #expect(try request.answer(response(200, endpoint.json.revealed)) == .ready(endpoint))
        #expect(throws: CloudError.self) { try request.answer(refusal(404, "MQTT_ENDPOINT_NOT_FOUND")) }
        #expect(throws: CloudError.self) { try request.answer(response(200, #"{"host":"h"}"#)) }
    }
}

@Suite("the errors of Kii's cloud")
struct CloudErrorTests {
    private func error(_ status: Int, _ body: String, _ headers: [HTTPHeader] = []) -> CloudError {
        HTTPResponse(status: status, headers: headers, body: Array(body.utf8)).error()
    }

    @Test("an error has its code, keeps unknown fields, and prints none of them")
    func fields() {
        let error = error(
            404,
            #"{"errorCode":"THING_NOT_FOUND","message":"hidden words","field":"thingID","value":"hidden","objectScope":{"appID":"hidden"}}"#
        )
        #expect(error.code == .thingNotFound && error.status == 404 && error.message == "hidden words")
        #expect(error["field"] == "thingID" && error["objectScope"]?["appID"] == "hidden")
        var dumped = ""
        dump(error, to: &dumped)
        for text in ["\(error)", String(reflecting: error), dumped] { #expect(!text.contains("hidden"), "\(text)") }
        #expect("\(error)" == "THING_NOT_FOUND (status 404)")
    }

    @Test("a code of this library in an answer counts as none, so that no error prints the server's words")
    func ownCodes() {
        for code in [CloudError.Code.unsendable, .notUnderstood] {
            let error = error(400, #"{"errorCode":"\#(code)","message":"hidden\nwords","field":"f"}"#)
            #expect(error.description == "UNKNOWN (status 400)" && error["field"] == "f")
        }
    }

    @Test("a token that the server repeats is not kept")
    func tokens() {
        let error = error(403, #"{"errorCode":"WRONG_TOKEN","message":"m","accessToken":"t0ken","appID":"a"}"#)
        #expect(error["accessToken"] == nil && error["appID"] == "a" && error.isTokenEnded)
    }

    @Test(
        "temporary errors and expired tokens are told apart",
        arguments: [
            (503, "LOCK_FAILED", true, false), (503, "", true, false), (500, "UNDEFINED_ERROR", false, false),
            (403, "WRONG_TOKEN", false, true), (401, "UNAUTHORIZED", false, false), (401, "", false, true),
            (403, "APP_DISABLED", false, false), (409, "OBJECT_VERSION_IS_STALE", false, false),
            (404, "", false, false),
        ])
    func kinds(status: Int, code: String, isTemporary: Bool, isTokenEnded: Bool) {
        let error = error(status, code.isEmpty ? "<html>" : #"{"errorCode":"\#(code)"}"#)
        #expect(error.isTemporary == isTemporary && error.isTokenEnded == isTokenEnded)
        #expect(error.code.name == (code.isEmpty ? "UNKNOWN" : code))
        #expect("\(error)".contains("try again later") == isTemporary)
        #expect("\(error)".contains("another server") == (status == 404), "Kii names a reason for each of its 404s")
    }

    @Test("a wait that is not a number of seconds is ignored", arguments: ["soon", "-1", "", "99999999999999999999"])
    func waits(text: String) {
        #expect(error(503, "", [HTTPHeader("Retry-After", text)]).retryAfter == nil)
    }

    @Test("names of combining marks, which Swift sorts to compare, cost no more than others", .timeLimit(.minutes(1)))
    func marks() throws {
        let marks = String(repeating: "\u{301}\u{327}\u{316}", count: 80_000)
        #expect(error(404, #"{"errorCode":"\#(marks)","\#(marks)":1}"#).code == CloudError.Code(marks))
        let object = KiiObject(bucket: KiiBucket(scope: .user(KiiUser(id: marks)), name: "b"), id: marks)
        let read = CloudRequest.readObject(object)
        _ = try read.request(to: Cloud.app, token: Cloud.token)
        let record = try read.answer(HTTPResponse(status: 200, body: Array(#"{"\#(marks)":1}"#.utf8)))
        #expect(record?.fields.members.count == 1)
    }

    @Test("an unreadable answer is an error")
    func rubbish() {
        for body in ["", "null", "[1]", #"{"errorCode":5}"#, #"{"errorCode":""}"#, String(repeating: "[", count: 9999)]
        {
            #expect(error(500, body).status == 500)
        }
        for (status, advice) in [(302, "check the app's site"), (401, "get a new one")] {
            #expect(error(status, "").description.hasSuffix(advice))
        }
        #expect(error(400, #"{"errorCode":"A\u001bB"}"#).description == #"A\u001bB (status 400)"#)
    }
}
