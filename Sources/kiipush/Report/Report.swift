import KiiPushAgent
import KiiPushSystem

/// The contents of a report: the messages of a capture with their outcomes, and the lists that they refer to.
struct Report {
    /// The most messages in the tool's reports; further ones are only counted.
    static let mostMessages = 200_000

    /// Stands for the route of a message that no route took.
    static let noRoute = "(none)"

    let limit: Int

    /// The most bytes of one payload that a report shows with `--values`, and of all payloads.
    static let mostBytesOfPayload = 4096
    static let mostBytesOfPayloads = 16 << 20

    enum Origin: String {
        /// A receiver on a virtual clock, whose handlers succeed and do nothing.
        case replayed
        /// An agent that reported the outcome of each message.
        case watched
    }

    let source: String
    let origin: Origin
    var rules: String?
    /// The agent's state directory, for advised commands; nil for the standard one.
    var state: String?
    /// For each lane of a bucket: the bucket's URI.
    var bucketURIs: [Int: String] = [:]
    let showsValues: Bool
    var messages: [ReportMessage] = []
    var kinds = ReportNames()
    var places = ReportNames()
    var lanes = ReportNames()
    var routes = ReportNames()
    var outcomes = ReportNames()
    var reasons = ReportNames()
    var ways = ReportWays()
    var payloads: [String] = []
    private var bytesOfPayloads = 0
    /// The time of the first message; nil if unknown.
    var beginning: UTCDate?
    /// How many messages exceeded the limit.
    var leftOut = 0
    /// How many messages an agent skipped because the reader was too slow.
    var unseen = 0

    init(source: String, origin: Origin, showsValues: Bool, limit: Int = mostMessages) {
        (self.limit, self.source, self.origin, self.showsValues) = (limit, source, origin, showsValues)
    }

    /// Keeps a payload; returns its number, or -1 if values must not be shown, or the capacity is used up.
    mutating func keep(payload: [UInt8]) -> Int {
        guard showsValues else { return -1 }
        let isCut = payload.count > Self.mostBytesOfPayload
        let text = String(decoding: payload.prefix(Self.mostBytesOfPayload), as: UTF8.self)
        guard bytesOfPayloads + text.utf8.count <= Self.mostBytesOfPayloads else { return -1 }
        bytesOfPayloads += text.utf8.count
        payloads.append(text + (isCut ? "… (\(payload.count) bytes in all)" : ""))
        return payloads.count - 1
    }

    /// A message without its outcome; its place is the bucket or topic, and its lane the ordering key.
    ///
    /// Names and ids; `owner` is the scope's owner, and `words` stand for a message without bucket and topic.
    mutating func message(
        at time: Int64, line: Int, kind: String?, words: String?, bucket: (name: String?, uri: String?),
        object: String?, topic: String?, owner: String?
    ) -> ReportMessage {
        let owner = owner.map { " · \($0)" } ?? ""
        let named = bucket.name.map { "bucket \($0)\(owner)" }
        let place = named ?? topic.map { "topic \($0)\(owner)" } ?? "(\(words ?? "no push message"))"
        let lane = named.flatMap { named in object.map { "\(named) / \($0)" } } ?? place
        let message = ReportMessage(
            time: time, line: line, kind: kinds.number(of: kind ?? "none"), place: places.number(of: place),
            lane: lanes.number(of: lane))
        if bucketURIs[message.lane] == nil { bucketURIs[message.lane] = bucket.uri }
        return message
    }

    /// Completes the report: sorts the messages by arrival.
    mutating func finish() {
        let inOrder = messages.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
        messages = inOrder.map(\.element)
        guard let first = messages.first?.time, first != 0, origin == .watched else { return }
        for index in messages.indices {
            messages[index].time -= first
            messages[index].end = messages[index].end.map { $0 - first }
        }
        beginning = UTCDate(milliseconds: first)
    }

    func outcome(_ message: ReportMessage) -> String { outcomes.all[message.outcome] }
    func hasWaited(_ message: ReportMessage) -> Bool { message.end != nil || outcome(message) == "paced" }
    func reason(_ message: ReportMessage) -> String { reasons.all[message.reason] }
    func route(_ message: ReportMessage) -> String { routes.all[message.route] }
}
