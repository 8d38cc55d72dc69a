/// What a report keeps of one message; texts are numbers into the report's lists.
struct ReportMessage {
    /// When it arrived, in milliseconds from the capture's beginning.
    var time: Int64
    /// Its line in the capture.
    var line: Int
    var kind: Int
    /// The bucket or topic.
    var place: Int
    /// What its order is kept by: the object, the topic, or the kind.
    var lane: Int
    /// The first route that takes it.
    var route: Int
    var outcome: Int
    var reason: Int
    /// The way through the pipeline; -1 where there was no capacity left to keep it.
    var way: Int
    /// When a message that was held came to its end; nil for one that was not held, or still is.
    var end: Int64?
    var guarding = Guarding()
    /// The payload's number among those that are shown; -1 for none.
    var payload = -1

    /// What the loop guard did with it.
    struct Guarding: OptionSet, Hashable {
        let rawValue: Int
        /// It was held for a while.
        static let held = Guarding(rawValue: 1)
        /// Handling its kind brought more: the guard took it for a loop.
        static let loop = Guarding(rawValue: 2)
        /// Handling its kind brought nothing: the guard let it go.
        static let burst = Guarding(rawValue: 4)
    }
}

/// A list of texts, each once, that messages refer to by number.
struct ReportNames {
    private(set) var all: [String] = []
    private var numbers: [[UInt8]: Int] = [:]

    /// The most characters of a name; two that differ behind them count as one.
    static let mostCharacters = 120

    /// The number of a text; it is cut, and made safe to look at.
    mutating func number(of text: String) -> Int {
        // By bytes: to Swift two spellings of one character are one text.
        let key = Array(text.utf8.prefix(Self.mostCharacters * 4))
        if let number = numbers[key] { return number }
        let safe = escaped(text)
        all.append(safe.count <= Self.mostCharacters ? safe : safe.prefix(Self.mostCharacters - 1) + "…")
        numbers[key] = all.count - 1
        return all.count - 1
    }
}
