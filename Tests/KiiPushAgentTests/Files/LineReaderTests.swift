import Glibc
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem

struct LineReaderTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// What a reader makes of some bytes: each line's text, or `!` for one that is too long.
    private func lines(_ bytes: [UInt8], limit: Int, bufferSize: Int) throws -> [String] {
        let path = try directory.write(bytes, to: "a")
        var reader = LineReader(try ByteReader(path: path), limit: limit, bufferSize: bufferSize)
        var lines: [String] = []
        while let line = try reader.next() {
            switch line {
            case .bytes(let bytes, let number):
                #expect(number == lines.count + 1)
                lines.append(String(decoding: bytes, as: UTF8.self))
            case .tooLong(let number):
                #expect(number == lines.count + 1)
                lines.append("!")
            }
        }
        #expect(try reader.next() == nil)
        return lines
    }

    // Lines of at most 4 bytes.
    @Test(
        "splits at LF, CRLF and the end, and skips overlong lines",
        arguments: [
            ("", []),
            ("\n", [""]),
            ("\n\n", ["", ""]),
            ("\r\n\r\n", ["", ""]),
            ("a", ["a"]),
            ("a\n", ["a"]),
            ("a\r\nb\n\nc", ["a", "b", "", "c"]),
            ("abcd\nabcd\r\nabcd", ["abcd", "abcd", "abcd"]),
            ("abcde\nab", ["!", "ab"]),
            ("abcde\r\nab", ["!", "ab"]),
            ("ab\nabcde", ["ab", "!"]),
            ("ab\nabcdefghijklmnopqrstuvwxyz\nabcd\nabcdefghi\r\n\nx", ["ab", "!", "abcd", "!", "", "x"]),
            ("abcdefghijklmnop", ["!"]),
            ("abcdefghijklmnop\n", ["!"]),
            // A CR is a line end only before LF.
            ("a\rb\n", ["a\rb"]),
            ("a\r", ["a\r"]),
            ("a\r\r\n", ["a\r"]),
            ("abcd\r", ["!"]),
            ("abcd\r\r\n", ["!"]),
            ("abcd\rx\nb", ["!", "b"]),
            ("\r", ["\r"]),
        ])
    func table(text: String, expected: [String]) throws {
        // Each with a buffer that ends at every possible place.
        for bufferSize in [1, 2, 3, 4, 5, 6, 7, 64] {
            #expect(try lines(Array(text.utf8), limit: 4, bufferSize: bufferSize) == expected, "\(bufferSize)")
        }
    }

    @Test("passes invalid UTF-8 and NUL unchanged")
    func invalidUTF8() throws {
        let path = try directory.write([0xFF, 0x00, 0xC3, 0x0A, 0x80], to: "a")
        var reader = LineReader(try ByteReader(path: path), limit: 10)
        #expect(try reader.next() == .bytes([0xFF, 0x00, 0xC3], number: 1))
        #expect(try reader.next() == .bytes([0x80], number: 2))
        #expect(try reader.next() == nil)
    }

    @Test("with a limit of zero, only empty lines fit")
    func limitZero() throws {
        #expect(try lines(Array("\na\n\r\n".utf8), limit: 0, bufferSize: 3) == ["", "!", ""])
    }

    @Test("reads a line over many buffers whole, with memory of its own size")
    func longLine() throws {
        let long = String(repeating: "x", count: 200_000)
        let path = try directory.write(Array("\(long)\nb".utf8), to: "a")
        var reader = LineReader(try ByteReader(path: path), limit: 1 << 24)
        guard case .bytes(let bytes, 1)? = try reader.next() else { Issue.record("no line"); return }
        #expect(bytes == Array(long.utf8))
        #expect(bytes.capacity < 1 << 20)
        #expect(try reader.next() == .bytes(Array("b".utf8), number: 2))
    }

    @Test("a huge sparse file is one line that is too long")
    func huge() throws {
        let path = try directory.write(Array("a\n".utf8), to: "a", size: 20 << 20)
        var reader = LineReader(try ByteReader(path: path), limit: 1_000)
        #expect(try reader.next() == .bytes(Array("a".utf8), number: 1))
        #expect(try reader.next() == .tooLong(number: 2))
        #expect(try reader.next() == nil)
    }

    // Each of these would block for ever if the reader wanted more than it needs: nobody writes on.
    @Test("returns a line before the next one arrives", .timeLimit(.minutes(1)), arguments: ["\n", "\r\n"])
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

    @Test("a line that is too long is reported before it ends", .timeLimit(.minutes(1)))
    func tooLongAtOnce() throws {
        let pipe = try Pipe()
        var reader = LineReader(ByteReader(descriptor: pipe.readEnd, name: "-"), limit: 4)
        pipe.write("12345")
        #expect(try reader.next() == .tooLong(number: 1))
        pipe.write("6789\nnext\n")
        #expect(try reader.next() == .bytes(Array("next".utf8), number: 2))
    }

    @Test("a directory is an error at the first line")
    func directoryIsAnError() throws {
        let path = directory.path
        var reader = LineReader(try ByteReader(path: path), limit: 4)
        do {
            _ = try reader.next()
            Issue.record("a directory was read")
        } catch {
            #expect(error == .unreadable(name: path, ErrorNumber(rawValue: EISDIR)))
        }
    }
}
