import KiiPushAgent

/// One message in a report; texts are numbers in the report's lists.
struct ReportMessage {
    /// When it arrived, in milliseconds from the capture's beginning.
    var time: Int64
    /// Its line in the capture.
    var line: Int
    var kind: Int
    /// The bucket or topic.
    var place: Int
    /// Its ordering key: the object, the topic, or the kind.
    var lane: Int
    /// The first route that matches it.
    var route: Int
    var outcome: Int
    var reason: Int
    /// The way through the pipeline; -1 if the capacity is used up.
    var way: Int
    /// When a message that had to wait for its pace ended; nil for one that did not wait, or still does.
    var end: Int64?
    /// The payload's number among those shown; -1 for none.
    var payload = -1

    /// How long it waited for its pace; nil if it did not, or still does.
    var waited: Int64? { end.map { max(0, $0 - time) } }
}

/// A list of unique texts, to which messages refer by number.
struct ReportNames {
    private(set) var all: [String] = []
    private var numbers: [[UInt8]: Int] = [:]

    /// The most characters of a name; two that differ only after them count as one.
    static let mostCharacters = 120

    /// The number of a text, which is truncated and escaped.
    mutating func number(of text: String) -> Int {
        // By bytes: Swift treats two spellings of one character as equal.
        let key = Array(text.utf8.prefix(Self.mostCharacters * 4))
        if let number = numbers[key] { return number }
        let safe = escaped(text)
        all.append(safe.count <= Self.mostCharacters ? safe : safe.prefix(Self.mostCharacters - 1) + "…")
        numbers[key] = all.count - 1
        return all.count - 1
    }
}
