import KiiPush
import KiiPushContracts
import KiiPushTesting
import Testing

@testable import OwnFormat

@Suite("A format of one's own")
struct OwnFormatTests {
    @Test("my format meets the guarantees of a payload format")
    func contract() async {
        let payloads = ["id=1\nfrom=cellar\nkind=temp\nvalue=4", "id=2\nfrom=cellar\nkind=temp\nroom=b\n"]
        await PayloadFormatContract(KeyValueLines(), payloads: payloads).verify()
    }

    @Test(
        "the rules do what their own tests say",
        arguments: try RuleSuite(contentsOf: "../rules.json", formats: .shipped.adding(KeyValueLines())))
    func rules(_ test: RuleCase) async throws { try await test.run() }

    @Test("a dead letter keeps the bytes, and a replay reads them with the same format")
    func replay() async throws {
        let receiver = PushReceiver(formats: .shipped.adding(KeyValueLines()))
        receiver.onDirectPush(id: "temperatures", format: "lines") { reading, context in
            #expect(reading.id == "17" && reading.data["value"]?.double == 4.5)
        }
        let payload = RawPayload("id=17\nfrom=sensor-4\nkind=temp\nvalue=4.5\n")
        let failed = DeadLetter(
            payload: payload, reason: .failed, routes: ["temperatures"], arrivedAt: SystemClock().now)
        _ = try receiver.deadLetters.add(failed)
        let letter = try #require(try receiver.deadLetters.letters().first)
        #expect(letter.payload.bytes == payload.bytes)
        #expect(await receiver.replay(letter).name == "handled")
    }
}
