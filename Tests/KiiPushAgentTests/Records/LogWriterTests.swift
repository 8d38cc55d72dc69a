import Synchronization
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem

@Suite("a log whose reader is slow or gone", .timeLimit(.minutes(5)))
struct LogWriterTests {
    /// A reader that can be held up, and that can be gone.
    private final class Reader: Sendable {
        private let state = Mutex<(lines: [String], isGone: Bool)>(([], false))
        private let gate = ThreadSemaphore()
        let arrived = ThreadSemaphore()

        var lines: [String] { state.withLock { $0.lines } }

        func read(_ line: String) -> Bool {
            arrived.raise()
            while !gate.wait(for: .seconds(20)) {}
            gate.raise()
            return state.withLock { state in
                if !state.isGone { state.lines.append(line) }
                return !state.isGone
            }
        }

        func open() { gate.raise() }
        func go(away isGone: Bool) { state.withLock { $0.isGone = isGone } }
    }

    @Test("lines come in their order, and the end waits for them")
    func order() {
        let reader = Reader()
        reader.open()
        let writer = LogWriter { reader.read($0.description) }
        let lines = (0..<500).map { "line \($0)" }
        for line in lines { writer.add(JournalLine(asItIs: line)) }
        let isDone = writer.finish(within: .seconds(20))
        #expect(isDone && reader.lines == lines && writer.dropped == 0)
    }

    @Test("never blocks on a slow reader, and reports dropped lines in their place")
    func blocked() {
        let reader = Reader()
        let changes = Mutex<[String]>([])
        let shortages = Shortages { change in changes.withLock { $0.append("\(change)") } }
        let writer = LogWriter(shortages: shortages) { reader.read($0.description) }
        for number in 0..<LogWriter.mostLines + 7 { writer.add(JournalLine(asItIs: "line \(number)")) }
        #expect(writer.dropped == 7 && shortages.isShort(of: .log))
        #expect(!writer.finish(within: .milliseconds(20)))
        reader.open()
        while changes.withLock({ $0.count }) < 2 {}
        #expect(reader.lines.prefix(LogWriter.mostLines).last == "line \(LogWriter.mostLines - 1)")
        #expect(reader.lines.last == "<4>kiipush: 7 lines were dropped here, since nobody read the log")
        #expect(!shortages.isShort(of: .log))
    }

    @Test("the queue is bounded in bytes")
    func bytes() {
        let reader = Reader()
        let writer = LogWriter { reader.read($0.description) }
        let line = String(repeating: "x", count: 64 << 10)
        for _ in 0..<10 { writer.add(JournalLine(asItIs: line)) }
        #expect(writer.dropped == 6)
        reader.open()
    }

    @Test("reports dropped lines when the reader returns")
    func gone() {
        let reader = Reader()
        reader.open()
        reader.go(away: true)
        let writer = LogWriter { reader.read($0.description) }
        for number in 0..<3 {
            writer.add(JournalLine(asItIs: "lost \(number)"))
            while writer.dropped <= number {}
        }
        reader.go(away: false)
        writer.add(JournalLine(asItIs: "kept"))
        let isDone = writer.finish(within: .seconds(20))
        #expect(isDone)
        #expect(reader.lines == ["<4>kiipush: 3 lines were dropped here, since nobody read the log", "kept"])
    }
}
