import Glibc
import KiiPush
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport

struct NotifySendTests {
    let directory: Folder

    init() throws { directory = try Folder() }

    private let message: PushMessage? = try? PushMessage(
        RawPayload(#"{"aps":{"alert":{"title":"-t $HOME","body":"--urgency=critical\n<b>\"a\" 'b' `c`"}}}"#))

    /// A shell script in the place of notify-send.
    private func program(_ script: String) throws -> String {
        try directory.write(Array("#!/bin/sh\n\(script)\n".utf8), to: "notify-send", mode: 0o700)
    }

    private func show(_ program: String, timeLimit: Duration = .seconds(60)) async throws -> ProgramError? {
        let message = try #require(message)
        let presenter = AlertPresenter(appName: "App", to: .desktop(program: program, timeLimit: timeLimit))
        while true {
            do throws(ProgramError) {
                try await presenter.show(message)
                return nil
            } catch .cannotRun(_, ErrorNumber(rawValue: ETXTBSY)) {
                // A child that another test is just starting still has the script open for writing.
                continue
            } catch {
                return error
            }
        }
    }

    private func text(of path: String) throws -> String {
        String(decoding: try ByteReader(path: path).readAll(limit: 10_000), as: UTF8.self)
    }

    @Test("passes title and body as arguments after --, without a shell")
    func arguments() async throws {
        let record = directory["arguments"]
        let error = try await show(program("printf '%s\\000' \"$@\" >'\(record)'"))
        #expect(error == nil)
        let expected = ["--", "-t $HOME", "--urgency=critical\n&lt;b&gt;\"a\" 'b' `c`"]
        #expect(try text(of: record) == expected.map { $0 + "\0" }.joined())
    }

    @Test("the program has no input, no output, and our environment")
    func surroundings() async throws {
        let record = directory["record"]
        let script = """
            streams=$(readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2)
            echo "$streams${PATH:+ and PATH}" >'\(record)'
            """
        #expect(try await show(program(script)) == nil)
        let lines = try text(of: record)
        #expect(lines == "/dev/null\n/dev/null\n/dev/null and PATH\n")
    }

    // A program inherits what its starter blocks and ignores. The thread is the test's own, since its mask stays.
    @Test("signals that this process blocks can end the program")
    func signalsAreLetThrough() async throws {
        let end = await withThread {
            var blocked = sigset_t()
            unsafe sigemptyset(&blocked)
            unsafe sigaddset(&blocked, SIGTERM)
            unsafe pthread_sigmask(SIG_BLOCK, &blocked, nil)
            return Result { () throws(ErrorNumber) in
                try ChildProcess.run("/bin/sh", ["-c", "kill -TERM $$"], limit: .seconds(60))
            }
        }
        #expect(try end.get() == .signaled(SIGTERM))
    }

    @Test("a program that does not end is killed when its time is over, and reaped", .timeLimit(.minutes(5)))
    func timeOut() async throws {
        let record = directory["pid"]
        // A time limit that a script on a busy machine may need to get as far as its first line.
        let program = try program("echo $$ >'\(record)'; exec sleep 1000")
        var limit = Duration.milliseconds(50)
        var recorded = ""
        while recorded.isEmpty {
            #expect(try await show(program, timeLimit: limit) == .stopped(program: program))
            recorded = (try? text(of: record)) ?? ""
            limit *= 2
        }
        let process = try #require(Int32(recorded.dropLast()))
        #expect(kill(process, 0) == -1)
        #expect(errno == ESRCH)
    }

    @Test("a time limit of zero ends at once", arguments: [Duration.zero, .seconds(-1), .seconds(Int64.min)])
    func noTime(limit: Duration) async throws {
        let program = try program("exec sleep 1000")
        #expect(try await show(program, timeLimit: limit) == .stopped(program: program))
    }

    @Test("a missing or invalid program is an error")
    func cannotRun() async throws {
        for missing in [directory.path + "/none", "kiipush-no-such-program", "", "\0", "/bin/sh\0"] {
            #expect(try await show(missing) == .notFound(program: missing))
        }
        #expect(ProgramError.notFound(program: "notify-send").description == "notify-send: not found on PATH")
        let path = try directory.write(Array("#!/bin/sh\n".utf8), to: "a", mode: 0o600)
        #expect(try await show(path) == .unusable(program: path, why: "is not executable; run chmod +x on it"))
    }

    @Test("waiting for the program does not block other tasks")
    func asynchronous() async throws {
        let message = try #require(message)
        let program = try program("exit 4")
        await #expect(throws: ProgramError.exited(program: program, status: 4)) {
            try await AlertPresenter(appName: "App", to: .desktop(program: program)).show(message)
        }
    }
}
