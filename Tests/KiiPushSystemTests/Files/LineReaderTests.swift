import Glibc
import Testing

@testable import KiiPushSystem
@testable import KiiPushTestSupport

/// What a reader adds to a splitter: it takes lines out of a file or a stream.
@Suite(.timeLimit(.minutes(5)))
struct LineReaderTests {
    let folder: Folder

    init() throws { folder = try Folder() }

    @Test("reads a line over many buffers whole, with memory of its own size, and the next one")
    func longLine() throws {
        let long = String(repeating: "x", count: 200_000)
        let path = try folder.write("\(long)\nb", to: "a")
        var reader = LineReader(try ByteReader(path: path), limit: 1 << 24)
        guard case .bytes(let bytes, 1)? = try reader.next() else { Issue.record("no line"); return }
        #expect(bytes == Array(long.utf8))
        #expect(bytes.capacity < 1 << 20)
        #expect(try reader.next() == .bytes(Array("b".utf8), number: 2))
        for _ in 0..<2 { #expect(try reader.next() == nil) }
    }

    @Test("a huge sparse file is one line that is too long")
    func huge() throws {
        let path = try folder.write(Array("a\n".utf8), to: "a", size: 20 << 20)
        var reader = LineReader(try ByteReader(path: path), limit: 1_000)
        #expect(try reader.next() == .bytes(Array("a".utf8), number: 1))
        #expect(try reader.next() == .tooLong(number: 2))
        #expect(try reader.next() == nil)
    }

    // Each of these would block for ever if the reader wanted more than it needs: nobody writes on.
    @Test("returns a line before the next one arrives", arguments: ["\n", "\r\n"])
    func atOnce(lineEnd: String) throws {
        let pipe = try Pipe()
        var reader = LineReader(ByteReader(descriptor: pipe.readEnd, name: "-"), limit: 100)
        pipe.write("one\(lineEnd)two\(lineEnd)thr")
        #expect(try reader.next() == .bytes(Array("one".utf8), number: 1))
        #expect(try reader.next() == .bytes(Array("two".utf8), number: 2))
        pipe.write("ee\(lineEnd)")
        #expect(try reader.next() == .bytes(Array("three".utf8), number: 3))
        pipe.write("12345")
        pipe.endInput()
        #expect(try reader.next() == .bytes(Array("12345".utf8), number: 4))
        #expect(try reader.next() == nil)
    }

    @Test("a line that is too long is reported before it ends")
    func tooLongAtOnce() throws {
        let pipe = try Pipe()
        var reader = LineReader(ByteReader(descriptor: pipe.readEnd, name: "-"), limit: 4)
        pipe.write("12345")
        #expect(try reader.next() == .tooLong(number: 1))
        pipe.write("6789\nnext\n")
        #expect(try reader.next() == .bytes(Array("next".utf8), number: 2))
    }
}

struct LineSplitterTests {
    /// The lines of a text that comes in so many bytes at a time, and the starts of those that are too long.
    private func split(_ text: String, limit: Int, step: Int) -> (lines: [InputLine], starts: [String]) {
        var splitter = LineSplitter(limit: limit)
        var (lines, starts): ([InputLine], [String]) = ([], [])
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: step) {
            splitter.append(bytes[start..<min(start + step, bytes.count)])
            while let line = splitter.next() {
                lines.append(line)
                if case .tooLong = line { starts.append(String(decoding: splitter.tooLongStart, as: UTF8.self)) }
            }
        }
        if let line = splitter.finish() { lines.append(line) }
        #expect(!splitter.hasPartialLine)
        return (lines, starts)
    }

    private func bytes(_ text: String, _ number: Int) -> InputLine { .bytes(Array(text.utf8), number: number) }

    @Test("knows the beginning of a line that is too long", arguments: [1, 3, 4, 5, 6, 100])
    func tooLongStart(step: Int) {
        let text = "a\nanswer failed because it is broken\nb"
        #expect(split(text, limit: 20, step: step).starts == ["answer failed be"])
    }

    @Test("splits equally however the bytes arrive", arguments: 1...12)
    func cut(step: Int) {
        let cases: [(text: String, lines: [InputLine])] = [
            ("", []), ("\n", []), ("a", [bytes("a", 1)]), ("a\nb", [bytes("a", 1), bytes("b", 2)]),
            ("a\r\n\r\nb\r\n", [bytes("a", 1), bytes("b", 3)]), (" \t\n a\n  ", [bytes(" a", 2)]),
            ("abcd\nabcd\r\nabcd", [bytes("abcd", 1), bytes("abcd", 2), bytes("abcd", 3)]),
            ("abcde\nf\n", [.tooLong(number: 1), bytes("f", 2)]),
            ("abcdefghij\n\nklmnopq\nr", [.tooLong(number: 1), .tooLong(number: 3), bytes("r", 4)]),
            ("abcd\rx\nb", [.tooLong(number: 1), bytes("b", 2)]), ("abcd\r", [.tooLong(number: 1)]),
            ("a\rb\n\rc", [bytes("a\rb", 1), bytes("\rc", 2)]), ("abcdefgh", [.tooLong(number: 1)]),
            ("a\r\r\n", [bytes("a\r", 1)]), ("abcd\r\r\n", [.tooLong(number: 1)]), ("\r", [bytes("\r", 1)]),
        ]
        for (text, lines) in cases {
            #expect(split(text, limit: 4, step: step).lines == lines, "\(text.debugDescription)")
        }
        #expect(split("\na\n\r\n", limit: 0, step: step).lines == [.tooLong(number: 2)])
    }
}
