import Glibc
@testable import KiiPushSystem
@testable import KiiPushTestSupport
import Testing

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
            ("link", "regular file"), ("pipe", "regular file"), ("", "regular file"), ("none", "No such file"),
            ("a\0", "Invalid argument"),
        ] {
            let error = #expect(throws: SecretFileError.self, "\(name)") {
                try SecretFile(folder[name], limit: 100, credentials: nil)
            }
            #expect(error?.description.contains(what) == true, "\(name): \(String(describing: error))")
        }
        #expect(throws: SecretFileError.tooLarge(path, limit: 3)) { try SecretFile(path, limit: 3, credentials: nil) }
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
        #expect(throws: SecretFileError.self) { try SecretFile("word", limit: 100, credentials: nil) }
        #expect(throws: SecretFileError.self) { try SecretFile("none", limit: 100, credentials: folder.path) }
    }
}
