import KiiPush
import Testing

@testable import KiiPushAgent
@testable import kiipush

/// `kiipush inspect` on the payloads of Kii's neighbours.
struct InspectFormatsTests {
    @Test("a command is reported key for key, its actions as they were sent")
    func command() async throws {
        let line = try await ToolRun.inspect(
            """
            {"schema":"Lamp","schemaVersion":2,"issuer":"user:u-1","commandID":"c-1",
             "actions":[ {"turnPower":{"power":true}} , {"setColor":[0,128,1.50]} ]}
            """)
        for part in [
            #""kind":"directPush","certainty":"certain","dialect":"thingIF","evidence":["commandID","actions"]"#,
            #""conflicts":[],"appID":null,"origin":null,"event":null,"scope":null"#,
            #""command":{"id":"c-1","issuer":"user:u-1","schema":"Lamp","#
                + #""actions":[{"turnPower":{"power":true}},{"setColor":[0,128,1.50]}]},"data":{"schema":"Lamp","#,
            #""fields":{},"dedupe":{"#, #""strength":"strong""#,
        ] {
            #expect(line.contains(part), "\(part) is missing in \(line)")
        }
        let traits = try await ToolRun.inspect(#"{"commandID":7,"actions":[{"Air":[{"on":true},{"temp":25}]}]}"#)
        #expect(
            traits.contains(
                #""command":{"id":"7","issuer":null,"schema":null,"actions":[{"Air":[{"on":true},{"temp":25}]}]},"data":{"#
            ))
    }

    @Test("what only resembles a command has none, and is likely a Direct Push")
    func noCommand() async throws {
        for payload in [#"{"actions":[{"a":[{"x":1}]}]}"#, #"{"commandID":"c","actions":"[]"}"#, #"{"commandID":"c"}"#]
        {
            let line = try await ToolRun.inspect(payload)
            #expect(line.contains(#""command":null"#) && line.contains(#""certainty":"likely","dialect":"long""#))
        }
    }

    @Test("a QuickBlox payload, stated or by its marks")
    func quickBlox() async throws {
        let payload = #"{"message":"Hi+Bob","user_id":"234","sender":"x","collapse_key":"event17","from":"7"}"#
        for line in [
            try await ToolRun.inspect(payload), try await ToolRun.inspect(payload, "--transport", "quickblox"),
        ] {
            #expect(line.contains(#""kind":"directPush","certainty":"certain","dialect":"foreign""#))
            #expect(line.contains(#""evidence":["collapse_key"]"#) && line.contains(#""sender":null"#))
            #expect(line.contains(#""alert":{"title":null,"subtitle":null,"body":"Hi Bob"}"#))
            #expect(line.contains(#""data":{"message":"Hi+Bob","user_id":"234","sender":"x"},"fields":{}"#))
        }
        let stated = try await ToolRun.inspect(#"{"aps":{"alert":"x"},"bi":"b"}"#, "--transport", "quickblox")
        #expect(stated.contains(#""kind":"directPush","certainty":"certain","dialect":"foreign","evidence":[]"#))
        #expect(stated.contains(#""data":{"bi":"b"},"fields":{}"#))
    }

    @Test("what a QuickBlox sender writes is read where QuickBlox is stated, and its errors have a place")
    func quickBloxEvent() async throws {
        let event = "event.message=data.message=SStsb3ZlK00lMjZNJTI3cyUyMStFc3BlY2lhbGx5K3JlZCtvbmUlMjE="
        let line = try await ToolRun.inspect(event, "--transport", "quickblox")
        #expect(line.contains(#""body":"I love M&M's! Especially red one!""#))
        let bogus = try TemporaryFile("event.message=" + String(repeating: "c29tZXZhbHVlMQ", count: 5))
        let run = await ToolRun("inspect", "--transport", "quickblox", bogus.path)
        #expect(run.code == .failed)
        #expect(
            run.errors == [
                "\(bogus.path):1:85: badEncoding: quickblox: Base64 comes in groups of four characters; this text has "
                    + "70, and 0 of padding"
            ])
    }

    @Test("JPush's envelope and FCM's are opened")
    func envelopes() async throws {
        let jpush = try await ToolRun.inspect(
            #"{"cn.jpush.android.MESSAGE":"{\"topic\":\"t\"}","cn.jpush.android.MSG_ID":"1"}"#)
        #expect(jpush.contains(#""kind":"pushToUser","certainty":"certain","dialect":"jpush","evidence":["topic"]"#))
        #expect(jpush.contains(#""data":{},"fields":{"topic":"t"}"#) && jpush.contains(#""strength":"strong""#))
        let fcm = try await ToolRun.inspect(
            #"{"message":{"token":"x","data":{"topic":"t","n":"1"}}}"#, "--transport", "fcm")
        #expect(fcm.contains(#""kind":"pushToUser","certainty":"certain","dialect":"long","evidence":["topic"]"#))
        #expect(fcm.contains(#""data":{"n":"1"},"fields":{"topic":"t"}"#))
    }

    @Test("a reply of the API over MQTT is no push, and no broken JSON", arguments: ["\r\n", "\n"])
    func apiReply(lineEnd: String) async throws {
        let lines = ["HTTP/1.1 200 OK", "X-Kii-RequestID: r-1", "", #"{"commandID":"c-1"}"#]
        let file = try TemporaryFile(lines.joined(separator: lineEnd))
        let run = await ToolRun("inspect", "--format", "json", "--transport", "mqtt", file.path)
        #expect(run.code == .failed && run.output.count == 1)
        #expect(
            run.output.first?.contains(#""error":{"code":"notAPush","offset":0,"message":"a reply of Kii's API"#)
                == true)
        #expect(run.errors.first?.hasPrefix("\(file.path):1:1: notAPush: ") == true)
    }
}
