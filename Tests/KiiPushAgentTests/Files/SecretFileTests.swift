import Foundation
import KiiPushAgent
import KiiPushSystem
import Testing

/// Files that hold a secret.
struct SecretFileTests {
    private let folder: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "kiipush-secret-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        folder = url.path
    }

    private func write(_ name: String, mode: Int) throws -> String {
        let path = "\(folder)/\(name)"
        try "word".write(toFile: path, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    @Test("a file is a secret only when nobody else can read or change it")
    func modes() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for mode in [0o600, 0o400, 0o700] {
            let file = try SecretFile(try write("a\(mode)", mode: mode), limit: 100, credentials: nil)
            #expect(file.exposure == nil && file.bytes == Array("word".utf8))
        }
        for mode in [0o640, 0o620, 0o610, 0o604, 0o602, 0o601] {
            let file = try SecretFile(try write("a\(mode)", mode: mode), limit: 100, credentials: nil)
            #expect(file.exposure?.description.contains("(mode 0\(String(mode, radix: 8)))") == true)
        }
    }

    @Test("another user's file is not a secret", .enabled(if: geteuid() == 0, "only root can make one"))
    func owner() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = try write("a", mode: 0o600)
        try #require(unsafe chown(path, 65_534, 65_534) == 0)
        #expect(try SecretFile(path, limit: 100, credentials: nil).exposure == .foreignOwner(path))
    }

    @Test("refuses a missing, irregular or too large file")
    func refused() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = try write("a", mode: 0o600)
        try FileManager.default.createSymbolicLink(atPath: "\(folder)/link", withDestinationPath: path)
        try #require(unsafe mkfifo("\(folder)/pipe", 0o600) == 0)
        for (name, what) in [
            ("link", "regular file"), ("pipe", "regular file"), ("", "regular file"), ("none", "No such file"),
            ("a\0", "Invalid argument"),
        ] {
            let error = #expect(throws: SecretFileError.self, "\(name)") {
                try SecretFile("\(folder)/\(name)", limit: 100, credentials: nil)
            }
            #expect(error?.description.contains(what) == true, "\(name): \(String(describing: error))")
        }
        #expect(throws: SecretFileError.tooLarge(path, limit: 3)) { try SecretFile(path, limit: 3, credentials: nil) }
        #expect(try SecretFile(path, limit: 4, credentials: nil).bytes.count == 4)
    }

    @Test("a name without a slash is looked for among the credentials, where the group may read")
    func credentials() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = try write("word", mode: 0o440)
        #expect(try SecretFile("word", limit: 100, credentials: folder).exposure == nil)
        #expect(try SecretFile(path, limit: 100, credentials: folder).exposure == nil)
        #expect(try SecretFile(path, limit: 100, credentials: nil).exposure != nil)
        #expect(try SecretFile(path, limit: 100, credentials: "\(folder)x").exposure != nil)
        let open = try write("open", mode: 0o444)
        #expect(try SecretFile(open, limit: 100, credentials: folder).exposure != nil)
        #expect(throws: SecretFileError.self) { try SecretFile("word", limit: 100, credentials: nil) }
        #expect(throws: SecretFileError.self) { try SecretFile("none", limit: 100, credentials: folder) }
    }
}
