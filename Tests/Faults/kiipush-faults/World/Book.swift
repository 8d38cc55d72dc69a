import Glibc

/// What the handlers wrote down, in a file that every process of an agent adds to.
///
/// Each handled message is a line, written by one call, so that a kill takes none of it or all.
struct Book {
    struct Line {
        let number: Int
        /// Which of the agent's processes wrote it, from 1 on.
        let run: Int
    }

    let path: String
    private(set) var lines: [Line] = []
    private(set) var distinct: Set<Int> = []
    private var offset = 0
    private var half: [UInt8] = []

    init(path: String) { self.path = path }

    /// Reads what has been added since the last time, by the process of that number.
    mutating func read(run: Int) throws {
        let bytes = contents(of: path, from: offset)
        offset += bytes.count
        half += bytes
        var start = 0
        while let end = half[start...].firstIndex(of: 0x0A) {
            let line = half[start..<end]
            guard let number = Self.number(line) else {
                throw Trouble("no line of a handler: \(String(decoding: line, as: UTF8.self))")
            }
            lines.append(Line(number: number, run: run))
            distinct.insert(number)
            start = end + 1
        }
        half.removeFirst(start)
    }

    /// A number, as this program's own agent writes, or the line that `kiipush receive` prints.
    private static func number(_ line: some Collection<UInt8>) -> Int? {
        if let number = Int(String(decoding: line, as: UTF8.self)) { return number }
        return NumberedMessage.number(in: line, behind: "\"sentAt\":")
    }

    // MARK: Checks

    /// How often a message was handled beyond the first time, for each process that had handled it before.
    ///
    /// - Returns: the counts by process; and what must not be: one handled twice by one process.
    func again() -> (byRun: [Int: Int], inOneRun: [Int]) {
        var last: [Int: Int] = [:]
        var byRun: [Int: Int] = [:]
        var inOneRun: [Int] = []
        for line in lines {
            if let run = last[line.number] {
                if run == line.run { inOneRun.append(line.number) } else { byRun[run, default: 0] += 1 }
            }
            last[line.number] = line.run
        }
        return (byRun, inOneRun)
    }

    /// The messages that were first handled after a later one of their object.
    var outOfOrder: [Int] {
        var latest: [Int: Int] = [:]
        var seen: Set<Int> = []
        var wrong: [Int] = []
        for line in lines where seen.insert(line.number).inserted {
            let lane = NumberedMessage.lane(of: line.number)
            if let before = latest[lane], before > line.number { wrong.append(line.number) }
            latest[lane] = max(latest[lane] ?? 0, line.number)
        }
        return wrong
    }
}

/// What a handler writes into a book.
struct BookWriter {
    private let file: Int32

    init(_ path: String) throws {
        file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Trouble("\(path): \(text())") }
    }

    func add(_ line: String) throws {
        let line = Array("\(line)\n".utf8)
        guard write(file, line, line.count) == line.count else { throw HandlerFailure() }
    }
}
