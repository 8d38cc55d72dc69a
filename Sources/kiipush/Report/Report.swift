import KiiPushLinux

/// What a report says of a capture: its messages with how they ended, and the lists that they refer to.
struct Report {
    /// The most messages of the tool's reports; further ones are counted.
    static let mostMessages = 200_000

    /// The most messages of this one.
    let limit: Int

    /// The most bytes of one payload and of all of them that a report shows with `--values`.
    static let mostBytesOfPayload = 4096
    static let mostBytesOfPayloads = 16 << 20

    /// Where the outcomes come from.
    enum Origin: String {
        /// The payloads were sent through a receiver on a virtual clock, whose handlers do nothing and succeed.
        case replayed
        /// An agent said how each message ended.
        case watched
    }

    let source: String
    let origin: Origin
    /// The rules file; nil where none was given.
    var rules: String?
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
    /// The time of the first message; nil where nobody knows it.
    var beginning: UTCDate?
    /// How many messages were beyond the limit.
    var leftOut = 0
    /// How many messages an agent did not show since they came faster than they were read.
    var unseen = 0

    init(source: String, origin: Origin, showsValues: Bool, limit: Int = mostMessages) {
        self.limit = limit
        self.source = source
        self.origin = origin
        self.showsValues = showsValues
    }

    /// Keeps a payload for those who may see it.
    ///
    /// - Returns: its number; -1 where it is not to be shown, or there is no capacity left.
    mutating func keep(payload: [UInt8]) -> Int {
        guard showsValues else { return -1 }
        let isCut = payload.count > Self.mostBytesOfPayload
        let text = String(decoding: payload.prefix(Self.mostBytesOfPayload), as: UTF8.self)
        guard bytesOfPayloads + text.utf8.count <= Self.mostBytesOfPayloads else { return -1 }
        bytesOfPayloads += text.utf8.count
        payloads.append(text + (isCut ? "… (\(payload.count) bytes in all)" : ""))
        return payloads.count - 1
    }

    /// The bucket or topic of a message, and what its order is kept by.
    ///
    /// Names and ids; `owner` is that of the scope, and `kind` represents a message that has neither bucket nor topic.
    static func places(
        bucket: String?, object: String?, topic: String?, owner: String?, kind: String
    ) -> (place: String, lane: String) {
        let owner = owner.map { " · \($0)" } ?? ""
        if let bucket {
            let place = "bucket \(bucket)\(owner)"
            return (place, object.map { "\(place) / \($0)" } ?? place)
        }
        let place = topic.map { "topic \($0)\(owner)" } ?? "(\(kind))"
        return (place, place)
    }

    /// Ends it: the messages are in the order of their arrival, and each knows what the loop guard took it for.
    mutating func finish() {
        sort()
        spreadGuarding()
    }

    /// The messages in the order of their arrival.
    private mutating func sort() {
        let inOrder = messages.enumerated().sorted {
            ($0.element.time, $0.offset) < ($1.element.time, $1.offset)
        }
        messages = inOrder.map(\.element)
        guard let first = messages.first?.time, first != 0, origin == .watched else { return }
        for index in messages.indices {
            messages[index].time -= first
            messages[index].end = messages[index].end.map { $0 - first }
        }
        beginning = UTCDate(milliseconds: first)
    }

    func outcome(_ message: ReportMessage) -> String { outcomes.all[message.outcome] }
    func reason(_ message: ReportMessage) -> String { reasons.all[message.reason] }
    func route(_ message: ReportMessage) -> String { routes.all[message.route] }
}
