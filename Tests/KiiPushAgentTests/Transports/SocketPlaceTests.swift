import Foundation
import Glibc
import KiiPushContracts
import Synchronization
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport

/// Where a socket may lie, and what becomes of what lies there.
@Suite(.timeLimit(.minutes(5)))
struct SocketPlaceTests {
    let folder: Folder

    init() throws { folder = try Folder() }

    private func listen(_ name: String = "s", mode: mode_t = 0o600) throws(SocketError) {
        _ = try SocketListener(folder[name], mode: mode)
    }

    private func status(_ name: String) -> stat {
        var status = stat()
        unsafe lstat(folder[name], &status)
        return status
    }

    /// Leaves a socket behind, as a process that was killed does.
    private func leaveSocket(_ name: String) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let address = try #require(UnixAddress(path: folder[name]))
        #expect(unsafe address.withPointer { unsafe bind(descriptor, $0, $1) } == 0)
        return descriptor
    }

    @Test("the socket has exactly its mode", arguments: [0o600, 0o666] as [mode_t])
    func mode(mode: mode_t) throws {
        let listener = try SocketListener(folder["s"], mode: mode)
        #expect(status("s").st_mode == S_IFSOCK | mode)
        withExtendedLifetime(listener.descriptor) {}
    }

    @Test("removes its own socket at the end")
    func removed() throws {
        try listen()
        #expect(folder.names == [])
        let other: Int32
        do {
            let listener = try SocketListener(folder["s"], mode: 0o600)
            try folder.remove("s")
            other = try leaveSocket("s")
            withExtendedLifetime(listener.descriptor) {}
        }
        #expect(folder.names == ["s"])
        close(other)
    }

    @Test("keeps a socket in use, even with a full queue")
    func inUse() throws {
        let other = try leaveSocket("s")
        defer { close(other) }
        #expect(Glibc.listen(other, 0) == 0)
        for _ in 0..<3 {
            #expect(throws: SocketError.inUse(folder["s"])) { try listen() }
        }
        #expect(folder.names == ["s"])
    }

    @Test("keeps a file that is not a socket", arguments: ["file", "folder", "link"])
    func occupied(kind: String) throws {
        switch kind {
        case "file": try folder.write("", to: "s")
        case "folder": try folder.makeFolder("s")
        default: try folder.link("s", to: folder["nowhere"])
        }
        #expect(throws: SocketError.occupied(folder["s"])) { try listen() }
        #expect(folder.names == ["s"])
    }

    @Test(
        "a directory in which others may put another socket is refused", arguments: [0o770, 0o707, 0o1777] as [mode_t])
    func unsafeDirectory(mode: mode_t) throws {
        try folder.makeFolder("d")
        #expect(unsafe chmod(folder["d"], mode) == 0)
        #expect(throws: SocketError.unsafeDirectory(folder["d/s"])) { try listen("d/s") }
        #expect(unsafe chmod(folder["d"], 0o755) == 0)
        try listen("d/s")
    }

    @Test(
        "root may listen in another user's directory, and replaces that user's stale socket",
        .enabled(if: geteuid() == 0))
    func rootInDirectoryOfOthers() throws {
        try folder.makeFolder("d")
        close(try leaveSocket("d/s"))
        for path in ["d", "d/s"] { #expect(unsafe lchown(folder[path], 65_534, 65_534) == 0) }
        try listen("d/s")
        #expect(folder.names == ["d"])
    }

    @Test("a path that no socket can have is an error that says so")
    func badPath() throws {
        let long = folder[String(repeating: "x", count: 108)]
        for path in ["", "a\0b", long] {
            #expect(throws: SocketError.badPath(path)) { _ = try SocketListener(path, mode: 0o600) }
        }
        #expect(SocketError.badPath(long).description.hasSuffix("; use a shorter path"))
        let missing = folder["none/s"]
        #expect(throws: SocketError.failed(path: missing, ErrorNumber(rawValue: ENOENT))) { try listen("none/s") }
        #expect(
            SocketError.failed(path: missing, ErrorNumber(rawValue: ENOENT)).description
                == "\(missing): cannot listen: No such file or directory")
    }

    @Test("one of many concurrent starts replaces a stale socket")
    func atOnce() async throws {
        close(try leaveSocket("s"))
        let path = folder["s"]
        let transports = (0..<6).map { _ in SocketTransport(path: path) }
        let intake = TrialIntake()
        let refused = await withTaskGroup(of: SocketError?.self) { group in
            for transport in transports {
                group.addTask {
                    do { try await transport.run(intake.intake(for: "unix")) } catch { return error as? SocketError }
                    return nil
                }
            }
            var refused: [SocketError] = []
            while refused.count < 5, let error = await group.next() { if let error { refused.append(error) } }
            group.cancelAll()
            return refused
        }
        #expect(refused == Array(repeating: .inUse(path), count: 5))
        #expect(folder.names == [])
    }

    @Test("a socket that somebody removes is made again, and until it can be, the transport is not connected")
    func removedByOther() async throws {
        let (folder, intake) = (folder, TrialIntake())
        let transport = SocketTransport(path: folder["s"])
            .limits(idle: .seconds(30), stop: .zero, lookEvery: .milliseconds(1))
        let running = Task { try await transport.run(intake.intake(for: "unix")) }
        #expect(await comes { intake.events == [.connected("listens at \(folder["s"])")] })
        try folder.write("", to: "other")
        try folder.move("other", to: "s")
        let why = SocketError.occupied(folder["s"]).description
        #expect(await comes { intake.events.contains(.disconnected(why, retryIn: .milliseconds(1))) })
        try folder.remove("s")
        let again = "listens at \(folder["s"]) again: the socket was removed or replaced"
        #expect(await comes { intake.events.contains(.connected(again)) })
        _ = try SocketPeer(folder["s"])
        running.cancel()
        try await running.value
        #expect(folder.names == [])
    }
}

@Suite("clients for whom there is no descriptor")
struct AcceptPauseTests {
    @Test(
        "they are a shortage until there is one again",
        arguments: [(EMFILE, Shortage.Kind.descriptors), (ENFILE, .descriptors), (ENOMEM, .memory), (ENOBUFS, .memory)])
    func shortage(number: Int32, kind: Shortage.Kind) {
        let changes = Mutex<[String]>([])
        let shortages = Shortages { change in changes.withLock { $0.append("\(change)") } }
        var pause = AcceptPause(shortages, what: "clients of /run/s")
        let isTold = pause.failed(ErrorNumber(rawValue: number))
        #expect(isTold && shortages.isShort(of: kind))
        #expect(pause.left != nil && !pause.isDue)
        _ = pause.failed(ErrorNumber(rawValue: number))
        pause.succeeded()
        pause.succeeded()
        #expect(shortages.current.isEmpty && pause.left == nil)
        let told = changes.withLock { $0 }
        #expect(told.count == 2 && told[0].contains("clients of /run/s cannot be accepted"))
    }

    @Test("ends with the shortage of another resource, or another failure", arguments: [ENOMEM, EPERM])
    func otherShortage(then number: Int32) {
        let shortages = Shortages()
        var pause = AcceptPause(shortages, what: "clients")
        _ = pause.failed(ErrorNumber(rawValue: EMFILE))
        _ = pause.failed(ErrorNumber(rawValue: number))
        #expect(!shortages.isShort(of: .descriptors) && shortages.isShort(of: .memory) == (number == ENOMEM))
        pause.succeeded()
        #expect(shortages.current.isEmpty)
    }

    @Test("another failure, and one that nobody is told of, is no shortage; both have a pause")
    func other() {
        let shortages = Shortages()
        var pause = AcceptPause(shortages, what: "clients")
        var alone = AcceptPause(nil, what: "clients")
        let areTold = [pause.failed(ErrorNumber(rawValue: EPERM)), alone.failed(ErrorNumber(rawValue: EMFILE))]
        #expect(areTold == [false, false] && shortages.current.isEmpty && pause.left != nil && alone.left != nil)
    }
}
