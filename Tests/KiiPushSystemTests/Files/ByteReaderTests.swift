import Glibc
import Testing

@testable import KiiPushSystem
@testable import KiiPushTestSupport

@Suite(.timeLimit(.minutes(5)))
struct ByteReaderTests {
    let directory: Folder

    init() throws { directory = try Folder() }

    private func error(_ path: String, limit: Int = 100) -> ReadError? {
        do throws(ReadError) {
            _ = try ByteReader(path: path).readAll(limit: limit)
            return nil
        } catch {
            return error
        }
    }

    @Test("a file of just the limit is read whole, and one byte more is too large", arguments: [0, 1, 2, 100, 65_536])
    func limits(limit: Int) throws {
        let bytes = (0..<limit + 1).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let path = try directory.write(bytes, to: "a")
        #expect(error(path, limit: limit) == .tooLarge(name: path, limit: limit))
        #expect(try ByteReader(path: path).readAll(limit: limit + 1) == bytes)
    }

    @Test("refuses a huge sparse file and an endless stream without reading them")
    func huge() throws {
        let path = try directory.write([], to: "a", size: 1 << 40)
        #expect(error(path, limit: 1_000) == .tooLarge(name: path, limit: 1_000))
        #expect(error("/dev/zero", limit: 1_000) == .tooLarge(name: "/dev/zero", limit: 1_000))
    }

    @Test("clamps limits to the allowed range")
    func limitOutOfRange() throws {
        let path = try directory.write([1], to: "a")
        #expect(error(path, limit: -1) == .tooLarge(name: path, limit: 0))
        #expect(try ByteReader(path: path).readAll(limit: .max) == [1])
    }

    @Test("a small file uses memory of its own size")
    func capacity() throws {
        let path = try directory.write([1, 2, 3], to: "a")
        #expect(try ByteReader(path: path).readAll(limit: 1 << 20).capacity < 1_000)
    }

    @Test("a file whose size the system does not know is read to its end")
    func sizeUnknown() throws {
        let bytes = try ByteReader(path: "/proc/self/cmdline").readAll(limit: 1 << 20)
        #expect(bytes.count > 1)
    }

    @Test("reads a stream that comes in parts, also a non-blocking one", arguments: [false, true])
    func parts(isNonBlocking: Bool) async throws {
        let pipe = try Pipe()
        if isNonBlocking { pipe.makeReadEndNonBlocking() }
        let descriptor = pipe.readEnd
        async let bytes = withThread { try? ByteReader(descriptor: descriptor, name: "-").readAll(limit: 10) }
        for part in ["ab", "c", "defg"] {
            pipe.write(part)
            await Task.yield()
        }
        pipe.endInput()
        #expect(await bytes == Array("abcdefg".utf8))
    }

    @Test("a caller's descriptor stays open, and the rest stays unread")
    func lent() throws {
        let pipe = try Pipe()
        pipe.write("abcdef")
        #expect(throws: ReadError.tooLarge(name: "-", limit: 2)) {
            _ = try ByteReader(descriptor: pipe.readEnd, name: "-").readAll(limit: 2)
        }
        #expect(pipe.read() == "def")
    }

    @Test("closes its own file with the reader and on exec")
    func closing() throws {
        let path = try directory.write([], to: "a")
        func isOpen(_ path: String) -> Bool {
            OpenDescriptor.all.contains { $0.target == path && $0.closesOnExec }
        }
        do {
            let reader = try ByteReader(path: path)
            #expect(isOpen(path))
            _ = try reader.readAll(limit: 1)
        }
        #expect(!isOpen(path))
        #expect(unsafe mkfifo(directory["pipe"], 0o600) == 0 && symlink("/dev/zero", directory["device"]) == 0)
        #expect(unsafe mknod(directory["socket"], S_IFSOCK | 0o600, 0) == 0)
        for path in [directory.path] + ["pipe", "device", "socket"].map({ directory[$0] }) {
            #expect(throws: ReadError.notAFile(name: path)) { _ = try ByteReader(regularFile: path) }
            #expect(!isOpen(path))
        }
    }

    // MARK: Errors

    @Test("a missing file, a directory and a path with NUL are unreadable")
    func unreadable() throws {
        let missing = directory.path + "/none.json"
        #expect(error(missing) == .unreadable(name: missing, ErrorNumber(rawValue: ENOENT)))
        #expect(error(missing)?.description == "\(missing): cannot be read: No such file or directory")
        #expect(error(directory.path)?.description == "\(directory.path): cannot be read: Is a directory")
        #expect(error("")?.description == ": cannot be read: No such file or directory")
        let path = try directory.write([1], to: "a")
        #expect(error(path + "\0.json")?.description == "\(path)\\u{0}.json: cannot be read: Invalid argument")
    }

    @Test("a file without permission is unreadable", .enabled(if: geteuid() != 0, "root may read everything"))
    func noPermission() throws {
        let path = try directory.write([1], to: "a", mode: 0)
        #expect(error(path) == .unreadable(name: path, ErrorNumber(rawValue: EACCES)))
    }

    @Test("a file that opens and then fails is unreadable")
    func failsLater() {
        #expect(error("/proc/self/mem") == .unreadable(name: "/proc/self/mem", ErrorNumber(rawValue: EIO)))
    }

    @Test("errors stay on one line whatever the file is called")
    func safeName() {
        #expect(
            ReadError.tooLarge(name: "a\n\u{1B}[2J.json", limit: 5).description
                == "a\\n\\u{1B}[2J.json: larger than 5 bytes, the most that are read")
    }
}
