import Glibc
import Testing

@testable import KiiPushSystem
@testable import KiiPushTestSupport

/// The interval is an hour where the system must tell of a change itself, so that no look finds it by chance.
@Suite("FileWatcher", .timeLimit(.minutes(5)))
struct FileWatcherTests {
    private let folder: Folder

    init() throws { folder = try Folder() }

    private func watcher(_ name: String, interval: Duration = .seconds(3600)) -> FileWatcher {
        FileWatcher(path: folder[name], interval: interval)
    }

    /// How a change is made, by name.
    private static let changes: [(name: String, make: @Sendable (Folder) throws -> Void)] = [
        ("written in place", { try $0.write("longer than before", to: "a") }),
        ("written with the same bytes", { try $0.write("old", to: "a") }),
        ("replaced", { try $0.replace("a", with: "new") }),
        ("removed", { try $0.remove("a") }),
        ("moved away", { try $0.move("a", to: "b") }),
        ("truncated", { try $0.write("", to: "a") }),
        ("given other permissions", { folder in unsafe chmod(folder["a"], 0) }),
        (
            "made a folder",
            {
                try $0.remove("a")
                try $0.makeFolder("a")
            }
        ),
    ]

    @Test("wakes once for any change of the file", arguments: changes.indices)
    func changed(index: Int) throws {
        try folder.write("old", to: "a")
        let watcher = watcher("a")
        #expect(watcher.inotify >= 0)
        #expect(watcher.wait(timeout: .zero) == .timedOut)
        try Self.changes[index].make(folder)
        #expect(watcher.wait(timeout: .seconds(20)) == .changed, "\(Self.changes[index].name)")
        #expect(watcher.wait(timeout: .zero) == .timedOut)
    }

    @Test("wakes when the file is created or moved in")
    func appears() throws {
        let watcher = watcher("a")
        try folder.write("new", to: "a")
        #expect(watcher.wait(timeout: .seconds(20)) == .changed)
        try folder.remove("a")
        #expect(watcher.wait(timeout: .seconds(20)) == .changed)
        try folder.replace("a", with: "newer")
        #expect(watcher.wait(timeout: .seconds(20)) == .changed)
    }

    @Test("ignores changes of neighbouring files")
    func neighbours() throws {
        // Made elsewhere: a program that another test is just starting has a copy of the descriptor that writes it, and
        // when that one is closed too, the file has been changed once more.
        let elsewhere = try Folder()
        try elsewhere.write("old", to: "a")
        try #require(unsafe link(elsewhere["a"], folder["a"]) == 0)
        let watcher = watcher("a")
        try folder.write("x", to: "aa")
        try folder.move("aa", to: "b")
        try folder.makeFolder("c")
        #expect(watcher.wait(timeout: .milliseconds(20)) == .timedOut)
        try folder.remove("b")
        #expect(watcher.wait(timeout: .zero) == .timedOut)
    }

    @Test("a wait that has begun is ended by the change, from another thread")
    func whileWaiting() async throws {
        let watcher = watcher("a")
        async let wake = withThread { watcher.wait(timeout: .seconds(20)) }
        try folder.write("x", to: "a")
        #expect(await wake == .changed)
    }

    // MARK: Directories

    @Test("finds a directory that appears later")
    func directoryLater() throws {
        let watcher = watcher("x/y/z/a")
        #expect(watcher.wait(timeout: .zero) == .timedOut)
        try folder.makeFolder("x")
        #expect(watcher.wait(timeout: .zero) == .timedOut)
        try folder.makeFolder("x/y")
        try folder.makeFolder("x/y/z")
        #expect(watcher.wait(timeout: .milliseconds(20)) == .timedOut)
        try folder.write("x", to: "x/y/z/a")
        #expect(watcher.wait(timeout: .seconds(20)) == .changed)
    }

    @Test("a directory that is made with the file in it, or moved there, is found")
    func directoryWithFile() throws {
        let watcher = watcher("x/y/a")
        try folder.makeFolder("x")
        try folder.makeFolder("x/y")
        try folder.write("x", to: "x/y/a")
        #expect(watcher.wait(timeout: .seconds(20)) == .changed)
        try folder.move("x/y", to: "x/other")
        #expect(watcher.wait(timeout: .seconds(20)) == .changed)
        try folder.write("y", to: "x/other/a")
        #expect(watcher.wait(timeout: .milliseconds(20)) == .timedOut)
        try folder.move("x/other", to: "x/y")
        #expect(watcher.wait(timeout: .seconds(20)) == .changed)
    }

    @Test("follows a replaced directory")
    func directoryReplaced() throws {
        try folder.makeFolder("x")
        try folder.write("1", to: "x/a")
        let watcher = watcher("x/a")
        try folder.makeFolder("new")
        try folder.write("2", to: "new/a")
        try folder.move("x", to: "old")
        try folder.move("new", to: "x")
        #expect(watcher.wait(timeout: .seconds(20)) == .changed)
        try folder.write("3", to: "old/a")
        #expect(watcher.wait(timeout: .milliseconds(20)) == .timedOut)
        try folder.write("4", to: "x/a")
        #expect(watcher.wait(timeout: .seconds(20)) == .changed)
        try folder.remove("x")
        #expect(watcher.wait(timeout: .seconds(20)) == .changed)
        try folder.makeFolder("x")
        try folder.write("5", to: "x/a")
        #expect(watcher.wait(timeout: .seconds(20)) == .changed)
    }

    @Test("watches one directory, however often it is moved away")
    func oneWatch() throws {
        try folder.makeFolder("x")
        let watcher = watcher("x/a")
        for number in 0..<5 {
            try folder.move("x", to: "old\(number)")
            try folder.makeFolder("x")
            _ = watcher.wait(timeout: .zero)
        }
        try folder.write("1", to: "x/a")
        #expect(watcher.wait(timeout: .seconds(20)) == .changed)
        let bytes = try ByteReader(regularFile: "/proc/self/fdinfo/\(watcher.inotify)").readAll(limit: 65_536)
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        #expect(lines.count { $0.hasPrefix("inotify ") } == 1, "\(lines)")
    }

    // MARK: Looks

    @Test("a look finds a change of the linked file, and another link to a folder, while it waits", arguments: [true, false])
    func links(isToFolder: Bool) async throws {
        for name in ["one", "two"] {
            try folder.makeFolder(name)
            try folder.write(name, to: "\(name)/a")
        }
        if !isToFolder { try folder.makeFolder("x") }
        let (link, file) = isToFolder ? ("x", "") : ("x/a", "/a")
        try folder.link(link, to: folder["one" + file])
        try folder.link("new", to: folder["two" + file])
        let watcher = watcher("x/a", interval: .milliseconds(10))
        async let wake = withThread { watcher.wait(timeout: .seconds(20)) }
        // The first look has begun when it has read what the system tells of a neighbour; a later one must find the rest.
        try folder.write("", to: "x/b")
        while watcher.hasEvents { await Task.yield() }
        if isToFolder { try folder.move("new", to: "x") } else { try folder.write("changed", to: "one/a") }
        #expect(await wake == .changed)
    }

    @Test("loses no change when the system's queue overflows")
    func overflow() throws {
        try folder.write("old", to: "a")
        let watcher = watcher("a")
        for number in 0..<20_000 {
            try folder.move(number % 2 == 0 ? "a" : "b", to: number % 2 == 0 ? "b" : "a")
        }
        #expect(watcher.wait(timeout: .seconds(20)) == .changed)
        while watcher.wait(timeout: .zero) == .changed {}
        try folder.replace("a", with: "last")
        #expect(watcher.wait(timeout: .seconds(20)) == .changed)
    }

    // MARK: Ending

    @Test("cancelling ends a wait that has begun, and all to come, also when there is a change")
    func cancel() async throws {
        let watcher = watcher("a")
        async let wake = withThread { watcher.wait(timeout: .seconds(3600)) }
        watcher.cancel()
        watcher.cancel()
        #expect(await wake == .cancelled)
        try folder.write("x", to: "a")
        #expect(watcher.wait(timeout: .seconds(3600)) == .cancelled)
    }

    @Test("polls only a few times in half a second")
    func noBusyLoop() async {
        await #expect(processExitsWith: .success) {
            let folder = try Folder()
            let watcher = FileWatcher(path: folder["a"], interval: .seconds(3600))
            var before = rusage()
            var after = rusage()
            unsafe getrusage(RUSAGE_SELF.rawValue, &before)
            #expect(watcher.wait(timeout: .milliseconds(500)) == .timedOut)
            unsafe getrusage(RUSAGE_SELF.rawValue, &after)
            #expect(after.ru_nvcsw - before.ru_nvcsw < 20)
            #expect(after.ru_utime.tv_usec - before.ru_utime.tv_usec < 100_000)
        }
    }

    @Test("its descriptors close on exec, and with the watcher")
    func descriptors() async {
        await #expect(processExitsWith: .success) {
            // The runtime opens descriptors of other kinds when it likes.
            func all() -> [OpenDescriptor] {
                OpenDescriptor.all.filter { $0.target == "anon_inode:inotify" || $0.target.hasPrefix("socket:") }
            }
            let before = all().map(\.target).sorted()
            do {
                let watchers = (0..<10).map { FileWatcher(path: "/tmp/kiipush-none-\($0)") }
                let opened = all().filter { !before.contains($0.target) }
                #expect(opened.count == 30 && opened.allSatisfy(\.closesOnExec))
                #expect(watchers.allSatisfy { $0.inotify >= 0 })
            }
            #expect(all().map(\.target).sorted() == before)
        }
    }

    @Test("polls without inotify")
    func withoutSystem() async {
        await #expect(processExitsWith: .success) {
            let folder = try Folder()
            func make() -> FileWatcher { FileWatcher(path: folder["a"], interval: .milliseconds(10)) }
            var all: [FileWatcher] = []
            // A user has a bound of instances; the process's own bound of descriptors is the nearer one.
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            var blind = make()
            while blind.inotify >= 0 {
                all.append(blind)
                blind = make()
            }
            all = []
            #expect(blind.wait(timeout: .milliseconds(20)) == .timedOut)
            try folder.write("x", to: "a")
            #expect(blind.wait(timeout: .seconds(20)) == .changed)
            #expect(blind.wait(timeout: .milliseconds(20)) == .timedOut)
        }
    }
}

extension FileWatcher {
    /// Whether the system tells of changes that were not read yet.
    fileprivate var hasEvents: Bool {
        var polled = [pollfd(fd: inotify, events: Int16(POLLIN), revents: 0)]
        pollAll(&polled, for: .zero)
        return polled[0].revents != 0
    }
}
