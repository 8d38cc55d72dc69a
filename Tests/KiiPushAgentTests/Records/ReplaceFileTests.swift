import Glibc
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport

/// What becomes of a path that is not that of a regular file when a file is written there.
@Suite(.timeLimit(.minutes(5)))
struct ReplaceFileTests {
    let folder: Folder

    init() throws { folder = try Folder() }

    private func kind(_ name: String) -> mode_t {
        var status = stat()
        return unsafe lstat(folder[name], &status) == 0 ? status.st_mode & S_IFMT : 0
    }

    @Test(
        "a symbolic link stays, and the file that it names is replaced",
        arguments: ["target", "./target", "sub/../target", "other"])
    func links(target: String) throws {
        try folder.makeFolder("sub")
        try folder.write("old", to: "target")
        try folder.link("other", to: folder["target"])
        try folder.link("link", to: target)
        try replaceFile(folder["link"], with: "new")
        #expect(kind("link") == S_IFLNK && kind("other") == S_IFLNK)
        #expect(try folder.read("target") == "new")
        #expect(folder.names == ["link", "other", "sub", "target"])
    }

    @Test("creates the target of a dangling link, and refuses a link to itself")
    func danglingLinks() throws {
        try folder.link("link", to: "none")
        try replaceFile(folder["link"], with: "new")
        #expect(try folder.read("none") == "new")
        try folder.link("loop", to: "loop")
        #expect(throws: ErrorNumber(rawValue: ELOOP)) { try replaceFile(folder["loop"], with: "new") }
        #expect(kind("loop") == S_IFLNK)
    }

    @Test("writes to a device and reports its error", arguments: [("/dev/null", 0), ("/dev/full", ENOSPC)])
    func devices(device: String, error: Int32) throws {
        // By links, since a fault must not replace the machine's own devices.
        try folder.link("device", to: device)
        for waits in [true, false] {
            do throws(ErrorNumber) {
                try replaceFile(folder["device"], with: "new", waits: waits)
                #expect(error == 0)
            } catch { #expect(error.rawValue == ENOSPC && device == "/dev/full") }
        }
        #expect(kind("device") == S_IFLNK)
        #expect(folder.names == ["device"])
    }

    @Test("writes to a pipe's reader; without one it is an error")
    func pipes() throws {
        #expect(unsafe mkfifo(folder["pipe"], 0o600) == 0)
        #expect(throws: ErrorNumber(rawValue: ENXIO)) { try replaceFile(folder["pipe"], with: "new") }
        let reader = unsafe open(folder["pipe"], O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        for (text, waits) in [("one", false), ("two", true)] {
            try replaceFile(folder["pipe"], with: text, waits: waits)
            var bytes = [UInt8](repeating: 0, count: 10)
            let count = unsafe read(reader, &bytes, bytes.count)
            #expect(String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self) == text)
        }
        #expect(throws: ErrorNumber(rawValue: EAGAIN)) {
            try replaceFile(folder["pipe"], with: String(repeating: "x", count: 1 << 20))
        }
        #expect(kind("pipe") == S_IFIFO)
    }

    @Test("an open descriptor's file is written into, not replaced")
    func descriptor() throws {
        try folder.write("", to: "file")
        let descriptor = unsafe open(folder["file"], O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        var (before, after) = (stat(), stat())
        unsafe fstat(descriptor, &before)
        try replaceFile("/dev/fd/\(descriptor)", with: "new")
        unsafe stat(folder["file"], &after)
        #expect(before.st_ino == after.st_ino)
        #expect(try folder.read("file") == "new")
    }

    @Test("never replaces or removes anything but a file")
    func occupied() throws {
        for name in ["m.tmp", "kill.json.broken", "c.1"] { #expect(unsafe mkfifo(folder[name], 0o600) == 0) }
        #expect(throws: ErrorNumber(rawValue: EEXIST)) { try replaceFile(folder["m"], with: "new") }
        try folder.write("{", to: "kill.json")
        #expect(throws: KillFileError.self) { try KillFile(path: folder["kill.json"]).reset() }
        let capture = CaptureFile(path: folder["c"], limit: 1024)
        let payload = RawPayload("{\"a\":\"\(String(repeating: "x", count: 700))\"}")
        try capture.add(payload)
        #expect(throws: WriteError.self) { try capture.add(payload) }
        for name in ["m.tmp", "kill.json.broken", "c.1"] { #expect(kind(name) == S_IFIFO) }
    }

    @Test("metrics, kills and captures follow symbolic links")
    func users() throws {
        for (name, target) in [("m", "metrics"), ("kill.json", "kills"), ("c", "capture")] {
            try folder.link(name, to: target)
        }
        try MetricsFile(metrics: Metrics(outcomes: [], routes: []), status: ServiceStatus()).write(to: folder["m"])
        try KillFile(path: folder["kill.json"]).kill(.everything, until: UTCDate(milliseconds: 4_000_000_000_000)!)
        let capture = CaptureFile(path: folder["c"], limit: 1024)
        let payload = RawPayload("{\"a\":\"\(String(repeating: "x", count: 700))\"}")
        try capture.add(payload)
        try capture.add(payload)
        for name in ["m", "kill.json", "c"] { #expect(kind(name) == S_IFLNK) }
        for name in ["metrics", "kills", "capture", "capture.1"] { #expect(try !folder.read(name).isEmpty) }
    }
}
