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

    @Test("a directory is an error at the first line")
    func directoryIsAnError() throws {
        let path = folder.path
        var reader = LineReader(try ByteReader(path: path), limit: 4)
        do {
            _ = try reader.next()
            Issue.record("a directory was read")
        } catch {
            #expect(error == .unreadable(name: path, ErrorNumber(rawValue: EISDIR)))
        }
    }
}
