import Glibc
import Testing

@testable import KiiPushSystem
@testable import KiiPushTestSupport

@Suite("StateDirectory")
struct StateDirectoryTests {
    @Test(
        "takes the first variable with an absolute path",
        arguments: [
            (["STATE_DIRECTORY": "/s", "XDG_STATE_HOME": "/x", "HOME": "/h"], "/s"),
            (["STATE_DIRECTORY": "/s:/t"], "/s"), (["XDG_STATE_HOME": "/x", "HOME": "/h"], "/x/kiipush"),
            (["HOME": "/h"], "/h/.local/state/kiipush"),
            (["STATE_DIRECTORY": "", "XDG_STATE_HOME": "x", "HOME": "/h"], "/h/.local/state/kiipush"),
            (["HOME": ""], nil), ([:], nil),
        ] as [([String: String], String?)])
    func standard(environment: [String: String], path: String?) {
        #expect(StateDirectory.standard { environment[$0] } == path)
    }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        unsafe stat(path, &status)
        return status.st_mode & 0o777
    }

    @Test("creates missing parents with mode 0700, and keeps an existing directory")
    func make() throws {
        let folder = try Folder()
        try StateDirectory.make(folder["a/b//c/"])
        for name in ["a", "a/b", "a/b/c"] { #expect(mode(folder[name]) == 0o700) }
        unsafe chmod(folder["a/b"], 0o755)
        try StateDirectory.make(folder["a/b"])
        #expect(mode(folder["a/b"]) == 0o755)
    }

    @Test("a file in its place, or above, is an error")
    func file() throws {
        let folder = try Folder()
        try folder.write("", to: "a")
        for path in [folder["a"], folder["a/b"]] {
            let error = #expect(throws: ErrorNumber.self) { try StateDirectory.make(path) }
            #expect(error?.rawValue == ENOTDIR)
        }
        #expect(throws: ErrorNumber.self) { try StateDirectory.make("") }
    }

    @Test(
        "the directory of a path",
        arguments: [
            ("a", "."), ("/a", "/"), ("a/b", "a"), ("/a/b/c", "/a/b"), ("a//b", "a"), ("//a", "/"), ("/a/", "/a"),
            ("/", "/"),
        ])
    func directories(path: String, directory: String) {
        #expect(directoryName(path) == directory)
    }
}

@Suite("a lock by a file")
struct FileLockTests {
    @Test("a lock whose file was replaced while waiting locks the new file", .timeLimit(.minutes(5)))
    func removed() async throws {
        let directory = try Folder()
        let path = directory["lock"]
        let first = try FileLock(path, limit: .zero)
        async let waiting = withThread { Result { () throws(ErrorNumber) in try FileLock(path, limit: .seconds(20)) } }
        // Until the second one has opened the file that is about to go.
        while OpenDescriptor.all.count(where: { $0.target == path }) < 2, !Task.isCancelled { await Task.yield() }
        #expect(unsafe unlink(path) == 0)
        first.unlock()
        let second = try await waiting.get()
        #expect(throws: ErrorNumber(rawValue: EWOULDBLOCK)) { try FileLock(path, limit: .zero) }
        second.unlock()
        try FileLock(path, limit: .zero).unlock()
    }
}

/// Files that hold a secret.
struct SecretFileTests {
    private let folder: Folder

    init() throws { folder = try Folder() }

    private func write(_ name: String, mode: mode_t) throws -> String {
        let path = try folder.write(Array("word".utf8), to: name)
        // The process's mask must not restrict it.
        try #require(unsafe chmod(path, mode) == 0)
        return path
    }

    @Test("a file is a secret only when nobody else can read or change it")
    func modes() throws {
        for mode in [0o600, 0o400, 0o700] as [mode_t] {
            let file = try SecretFile(try write("a\(mode)", mode: mode), limit: 100, credentials: nil)
            #expect(file.exposure == nil && file.bytes == Array("word".utf8))
        }
        for mode in [0o640, 0o620, 0o610, 0o604, 0o602, 0o601] as [mode_t] {
            let file = try SecretFile(try write("a\(mode)", mode: mode), limit: 100, credentials: nil)
            #expect(file.exposure?.description.contains("(mode 0\(String(mode, radix: 8)))") == true)
        }
    }

    @Test("another user's file is not a secret", .enabled(if: geteuid() == 0, "only root can make one"))
    func owner() throws {
        let path = try write("a", mode: 0o600)
        try #require(unsafe chown(path, 65_534, 65_534) == 0)
        #expect(try SecretFile(path, limit: 100, credentials: nil).exposure == .foreignOwner(path))
    }

    @Test("refuses a missing, irregular or too large file")
    func refused() throws {
        let path = try write("a", mode: 0o600)
        try folder.link("link", to: path)
        try #require(unsafe mkfifo(folder["pipe"], 0o600) == 0)
        for (name, what) in [
            ("link", "name the file itself"), ("pipe", "regular file"), ("", "regular file"), ("none", "No such file"),
            ("a\0", "Invalid argument"),
        ] {
            let error = #expect(throws: ReadError.self, "\(name)") {
                try SecretFile(folder[name], limit: 100, credentials: nil)
            }
            #expect(error?.description.contains(what) == true, "\(name): \(String(describing: error))")
        }
        #expect(throws: ReadError.tooLarge(name: path, limit: 3)) { try SecretFile(path, limit: 3, credentials: nil) }
        #expect(try SecretFile(path, limit: 4, credentials: nil).bytes.count == 4)
    }

    @Test("a name without a slash is looked for among the credentials, where the group may read")
    func credentials() throws {
        let path = try write("word", mode: 0o440)
        #expect(try SecretFile("word", limit: 100, credentials: folder.path).exposure == nil)
        #expect(try SecretFile(path, limit: 100, credentials: folder.path).exposure == nil)
        #expect(try SecretFile(path, limit: 100, credentials: nil).exposure != nil)
        #expect(try SecretFile(path, limit: 100, credentials: "\(folder.path)x").exposure != nil)
        let open = try write("open", mode: 0o444)
        #expect(try SecretFile(open, limit: 100, credentials: folder.path).exposure != nil)
        #expect(throws: ReadError.self) { try SecretFile("word", limit: 100, credentials: nil) }
        #expect(throws: ReadError.self) { try SecretFile("none", limit: 100, credentials: folder.path) }
    }
}
