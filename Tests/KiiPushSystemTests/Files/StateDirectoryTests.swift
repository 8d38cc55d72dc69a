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
