import KiiPush
import KiiPushTesting

/// Captures for reports, each made by what it shows.
enum Captures {
    static func line(_ milliseconds: Int, _ fixture: PayloadFixture, as style: PayloadFixture.KeyStyle = .long)
        -> String
    {
        let transport = style == .short ? "apns" : "mqtt"
        return #"{"at":"\#(milliseconds)ms","transport":"\#(transport)","payload":\#(fixture.json(style))}"#
    }

    /// Two minutes in which a handler writes back what it is called for; each write comes as the next push, over APNs,
    /// where no push says who wrote.
    ///
    /// The guard of a real receiver decides what is handled, so the capture has the rhythm that a loop has under it.
    static func loop(minutes: Int = 2) async -> String {
        let clock = ManualClock(wallNow: 1_700_000_000_000)
        let receiver = PushReceiver(clock: clock)
        receiver.onPushToApp(id: "counter", bucket: "counter", object: "*") { _, _ in }
        receiver.onPushToUser(id: "news", topic: "news") { _, _ in }
        let test = TestReceiver(receiver, clock)
        var pushes = [(at: 0, fixture: Self.counter(0), style: PayloadFixture.KeyStyle.short)]
        pushes += (0..<(minutes * 10)).map { (at: 500 + $0 * 6000, fixture: Self.news($0), style: .long) }
        var (lines, now): ([String], Int) = ([], 0)
        func answer(_ receipts: [TestReceipt]) {
            for receipt in receipts where receipt.outcome.name == "handled" && receipt.routes == ["counter"] {
                pushes.append((at: now + 100, fixture: Self.counter(now + 100), style: .short))
            }
        }
        while now < minutes * 60_000 {
            for push in pushes.filter({ $0.at == now }) {
                lines.append(Self.line(push.at, push.fixture, as: push.style))
                let receipt = await test.send(push.fixture.payload(push.style))
                answer([receipt] + receipt.caused)
            }
            answer(await test.advance(by: .milliseconds(20)))
            now += 20
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Forty seconds with a sensor's honest burst in them: fifty changes of one object within four seconds.
    static func burst() -> String {
        var lines: [(Int, PayloadFixture)] = stride(from: 14_000, to: 18_000, by: 80).map { ($0, Self.sensor($0)) }
        lines += stride(from: 0, to: 40_000, by: 1700).map { ($0, Self.news($0)) }
        // Some of them come twice.
        lines += stride(from: 0, to: 40_000, by: 6800).map { ($0 + 5, Self.news($0)) }
        return lines.sorted { $0.0 < $1.0 }.map { Self.line($0.0, $0.1) }.joined(separator: "\n") + "\n"
    }

    /// Texts that would do something in a page that let them.
    static let hostileTexts = [
        "</script><script>document.title='RAN'</script>", "<img src=x onerror=\"document.title='RAN'\">",
        "<!--<script>", "{{script}}{{data}}{{style}}", "'\"><svg onload=document.title='RAN'>", "javascript:alert(1)",
        "\u{202E}evil\u{2066}", "\u{2028}\u{2029}", "${alert(1)}`", "__proto__", "constructor", "\u{0}\u{1}\u{1B}[2J",
    ]

    /// A second each, with these texts wherever a payload has room for one.
    static func hostile() -> String {
        let lines = hostileTexts.enumerated().flatMap { number, text in
            let data = [(key: text, value: DataValue.string(text)), (key: "text", value: .string(text))]
            return [
                Self.line(
                    number * 1000,
                    .pushToApp(bucket: text, object: text, sender: text, sentAt: Int64(number), app: text)),
                Self.line(number * 1000 + 200, .pushToUser(topic: text, sentAt: Int64(number), data: data)),
                Self.line(number * 1000 + 400, .directPush(recipient: nil, data: data)),
                #"{"at":"\#(number * 1000 + 600)ms","transport":"\#(number)<i>","raw":\#(text.quotedAsJSON)}"#,
            ]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func counter(_ time: Int) -> PayloadFixture {
        .pushToApp(bucket: "counter", object: "c-1", sender: nil, sentAt: 1_700_000_000_000 + Int64(time))
    }

    private static func news(_ time: Int) -> PayloadFixture { .pushToUser(sentAt: 1_700_000_000_000 + Int64(time)) }

    private static func sensor(_ time: Int) -> PayloadFixture {
        .pushToApp(
            bucket: "sensor", object: "temperature", sentAt: 1_700_000_000_000 + Int64(time),
            modifiedAt: 1_700_000_000_000 + Int64(time))
    }
}
