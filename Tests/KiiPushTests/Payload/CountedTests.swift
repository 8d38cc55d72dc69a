import Testing

@testable import KiiPush

@Suite("a number with its noun")
struct CountedTests {
    @Test(
        "one takes the singular, everything else the plural",
        arguments: [(0, "0 rules"), (1, "1 rule"), (2, "2 rules")])
    func words(number: Int, words: String) { #expect(counted(number, "rule") == words) }

    @Test("a payload of one byte is described in the singular")
    func payload() { #expect("\(RawPayload("x"))" == "payload, 1 byte") }
}
