import KiiCloudTesting
import KiiPush
import Testing

@testable import KiiCloud

@Suite("answers of Thing-IF commands")
struct ThingCommandAnswersTests {
    private let cloud = TestCloud.withUser()
    private var answers: ThingCommandAnswers {
        let (token, thing) = (FixedToken(Secret("token-1")), Cloud.thing)
        let client = KiiClient(Cloud.app, transport: cloud, tokens: token, clock: NotedClock())
        let answers = ThingCommandAnswers(client, thing: thing)
        return answers
    }

    private static let command = RawPayload(
        #"{"commandID":"c-1","actions":[{"air":[{"turnPower":true},{"setTemp":25}]}]}"#, transport: .mqtt)

    private static func unsent(_ answer: Answer, _ payload: RawPayload = command) -> UnsentAnswer {
        UnsentAnswer(id: 1, sender: "thing-if", payload: payload, answer: answer)
    }

    @Test(
        "each action has its result",
        arguments: [
            (Answer(.succeeded), #"[{"turnPower":{"succeeded":true}},{"setTemp":{"succeeded":true}}]"#),
            (
                .failed("broken"),
                #"[{"turnPower":{"succeeded":false,"errorMessage":"broken"}},{"setTemp":{"succeeded":false,"errorMessage":"broken"}}]"#
            ),
            (
                Answer(.expired),
                #"[{"turnPower":{"succeeded":false,"errorMessage":"expired"}},{"setTemp":{"succeeded":false,"errorMessage":"expired"}}]"#
            ),
            (partly, #"[{"turnPower":{"succeeded":true}},{"setTemp":{"succeeded":false,"errorMessage":"stuck"}}]"#),
        ])
    func results(answer: Answer, results: String) async throws {
        #expect(answers.takes(try PushMessage(Self.command)))
        try await answers.send(Self.unsent(answer))
        let request = try #require(cloud.requests.last)
        #expect(request.path.hasSuffix("/targets/thing:\(Cloud.thing.id)/commands/c-1/action-results"))
        #expect(String(decoding: request.body, as: UTF8.self) == #"{"actionResults":[{"air":\#(results)}]}"#)
    }

    private static let partly: Answer = {
        var answer = Answer.failed("stuck")
        answer.failedActions = ["setTemp": "stuck"]
        return answer
    }()

    @Test("what Kii refuses for good is refused, and anything else is tried again")
    func errors() async throws {
        for (status, isFinal) in [
            (404, true), (409, true), (400, true), (401, false), (403, false), (408, false), (429, false),
        ] {
            cloud.fail(.status(status))
            do {
                try await answers.send(Self.unsent(Answer(.succeeded)))
                Issue.record("\(status) is no success")
            } catch { #expect((error is AnswerRefused) == isFinal, "\(status): \(error)") }
        }
        for payload in [
            "{}", #"{"commandID":".","actions":[{"a":[{"b":1}]}]}"#, #"{"commandID":"..","actions":[{"a":[{"b":1}]}]}"#,
        ] {
            await #expect(throws: AnswerRefused.self, "\(payload)") {
                try await answers.send(Self.unsent(Answer(.succeeded), RawPayload(payload, transport: .mqtt)))
            }
        }
        #expect(try !answers.takes(PushMessage(RawPayload(#"{"a":1}"#))))
    }
}
