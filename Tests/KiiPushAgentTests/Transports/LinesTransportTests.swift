import Glibc
import KiiPush
import KiiPushContracts
import KiiPushDelivery
import KiiPushAgent
import KiiPushSystem
import Testing

@testable import KiiPushTestSupport

@Suite(.timeLimit(.minutes(5)))
struct LinesTransportTests {
    let pipe: Pipe
    let intake = TrialIntake()

    init() throws { pipe = try Pipe() }

    private func transport(limit: Int = 100) -> LinesTransport {
        LinesTransport(descriptor: pipe.readEnd, transport: .mqtt, limit: limit)
    }

    private func run(_ transport: LinesTransport) async throws { try await transport.run(intake.intake(for: "stdin")) }

    private func start(_ transport: LinesTransport) -> Task<Void, any Error> {
        Task { [intake] in try await transport.run(intake.intake(for: "stdin")) }
    }

    @Test("each line is a payload, except blank ones")
    func lines() async throws {
        pipe.write("{\"a\":1}\r\n\n  \nnot json\n\u{0}\nlast")
        pipe.endInput()
        try await run(transport())
        #expect(intake.texts == ["{\"a\":1}", "not json", "\u{0}", "last"])
        #expect(intake.payloads.allSatisfy { $0.transport == .mqtt })
        #expect(intake.events == [])
    }

    @Test("reports JSON over several lines once, and submits its lines")
    func prettyPrinted() async throws {
        pipe.write("{\n  \"a\": [\n1\n]}\n{\n}\n")
        pipe.endInput()
        try await run(transport())
        #expect(intake.texts.count == 6)
        let what = "line 1 is only the beginning of a JSON text; write each payload on one line, as 'jq -c .' does"
        #expect(intake.events == [.possibleGap(what)])
    }

    @Test("reports an overlong line by its number, and reads on")
    func tooLong() async throws {
        pipe.write("a\n" + String(repeating: "x", count: 101) + "\n" + String(repeating: "y", count: 100) + "\n")
        pipe.endInput()
        try await run(transport())
        #expect(intake.texts == ["a", String(repeating: "y", count: 100)])
        #expect(intake.events == [.possibleGap("line 2 is larger than 100", cause: .notAccepted)])
    }

    @Test("reads nothing while the service is full, and reports what it had read when it is cancelled then")
    func full() async throws {
        intake.setRoom(0)
        let task = start(transport())
        pipe.write("a\n")
        #expect(await comes { intake.isAwaited })
        // Far more than a pipe holds: the writer has to wait.
        _ = fcntl(pipe.writeEnd, F_SETFL, O_NONBLOCK)
        let line = [UInt8](repeating: UInt8(ascii: "\n"), count: 65_536)
        while unsafe write(pipe.writeEnd, line, line.count) > 0 {}
        #expect(errno == EAGAIN)
        task.cancel()
        try await task.value
        let what = "1 line had been read and could not be handed over"
        #expect(intake.events == [.possibleGap(what, cause: .notAccepted)])
    }

    @Test("reads nothing if cancelled before it begins")
    func cancelledBefore() async throws {
        pipe.write("a\n")
        let task = Task { [intake, transport = transport()] in
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            try await transport.run(intake.intake(for: "stdin"))
        }
        try await task.value
        #expect(pipe.read() == "a\n")
    }

    @Test("ends when the service stops, and reports lost lines")
    func stopping() async throws {
        intake.refuse(.stopping)
        pipe.write("a\nb\nc")
        try await run(transport())
        let what = "2 lines and a part of one had been read and could not be handed over"
        #expect(intake.events == [.possibleGap(what, cause: .notAccepted)])
    }

    @Test("input that cannot be read is an error that names it")
    func unreadable() async throws {
        let directory = unsafe open("/tmp", O_RDONLY | O_CLOEXEC)
        defer { close(directory) }
        await #expect(throws: ReadError.unreadable(name: "stdin", ErrorNumber(rawValue: EISDIR))) {
            try await run(LinesTransport(descriptor: directory))
        }
        await #expect(throws: ReadError.unreadable(name: "in", ErrorNumber(rawValue: EBADF))) {
            try await run(LinesTransport(descriptor: 99_999, name: "in"))
        }
    }

    @Test("reads non-blocking input and files")
    func otherInputs() async throws {
        pipe.makeReadEndNonBlocking()
        let task = start(transport())
        pipe.write("a\n")
        #expect(await comes { intake.texts == ["a"] })
        pipe.endInput()
        try await task.value
        let directory = try Folder()
        let path = try directory.write(Array("b\nc".utf8), to: "lines")
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        try await run(LinesTransport(descriptor: file))
        #expect(intake.texts == ["a", "b", "c"])
    }
}
