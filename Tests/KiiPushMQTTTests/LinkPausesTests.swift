#if MQTT
import KiiPush
import Testing

@testable import KiiPushMQTT

/// What is told of links that end, and how long the next one waits.
struct LinkPausesTests {
    private let settings: MQTTSettings = {
        var settings = MQTTSettings(host: "h", topic: "t")
        (settings.backoff, settings.maxBackoff) = (.seconds(1), .seconds(8))
        settings.maxRefusalBackoff = .seconds(60)
        return settings
    }()

    @Test("from the third short link in a row on the hint at another program counts them", arguments: [3, 4, 21, 102])
    func hint(links: Int) {
        var pauses = LinkPauses(settings, clientID: "lamp")
        var told: [String] = []
        for _ in 0..<links {
            told.append(pauses.afterLoss("gone", isByBroker: true, held: .milliseconds(1), random: 0.5).words)
        }
        #expect(told[1] == "gone")
        #expect(told[links - 1].hasPrefix("gone; that makes \(links) short links in a row: another program"))
        #expect(told[links - 1].contains("'lamp'"))
    }

    @Test("a link that held for long, or that this side has lost, begins the count anew", arguments: [true, false])
    func anew(isByBroker: Bool) {
        var pauses = LinkPauses(settings, clientID: "lamp")
        func lose(_ pauses: inout LinkPauses, _ held: Duration, isByBroker: Bool = true) -> String {
            pauses.afterLoss("gone", isByBroker: isByBroker, held: held, random: 0.5).words
        }
        let first = (0..<2).map { _ in lose(&pauses, .milliseconds(1)) }
        let between = lose(&pauses, isByBroker ? .seconds(3600) : .milliseconds(1), isByBroker: isByBroker)
        let last = lose(&pauses, .milliseconds(1))
        #expect(first + [between, last] == ["gone", "gone", "gone", "gone"])
    }

    @Test("a refusal is told once, and again after anything else; only an admission makes its pause the first again")
    func refusals() {
        var pauses = LinkPauses(settings, clientID: "lamp")
        func refuse(_ why: String) -> String {
            let (words, pause) = pauses.afterRefusal(why, random: 0.5)
            return "\(words ?? "-") \(pause / .seconds(1))"
        }
        let told = [refuse("a"), refuse("a"), refuse("b")]
        pauses.forgetRefusal()
        let again = refuse("b")
        pauses.noteAdmission()
        let first = refuse("b")
        #expect(told + [again, first] == ["a 1.0", "- 2.0", "b 4.0", "b 8.0", "b 1.0"])
    }
}
#endif
