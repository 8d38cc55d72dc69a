import Foundation
import Glibc
import KiiPush
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport

/// Why a program cannot be started, and what a failure says of it.
@Suite(.timeLimit(.minutes(5)))
struct ProgramFileTests {
    let folder: Folder

    init() throws { folder = try Folder() }

    private func make(_ text: String, mode: mode_t = 0o700) throws -> String {
        try folder.write(text, to: "program")
        #expect(unsafe chmod(folder["program"], mode) == 0)
        return folder["program"]
    }

    static let crlf =
        "its first line ends with CR LF, so that its interpreter is not found; end its lines with LF, as dos2unix does"

    @Test(
        "a program that exists and cannot be started is told by its path and its reason, before and at the start",
        arguments: [
            ("#!/bin/sh\r\necho hi\r\n", 0o700, crlf),
            ("#!/usr/bin/interpreter9 -u\n", 0o700, "its interpreter /usr/bin/interpreter9 does not exist"),
            ("#! /tmp\n", 0o700, "its interpreter /tmp: is a directory, not a program"),
            ("#!\n", 0o700, "names no interpreter after #!"),
            ("#!/bin/sh\n", 0o600, "is not executable; run chmod +x on it"),
            ("echo hi\n", 0o700, "is neither a script that begins with #! nor a program of this system"),
            ("", 0o700, "is empty"),
        ] as [(String, mode_t, String)])
    func unusable(text: String, mode: mode_t, why: String) async throws {
        let path = try make(text, mode: mode)
        let problem = ProgramProblem.find(path)
        #expect(problem?.program == path)
        #expect(problem?.why == why)
        let run = ActionRun([path])
        #expect(await run.receive() == "failed (r)")
        #expect(run.error == .unusable(program: path, why: why))
    }

    @Test("a program whose loader is missing is told, with the loader")
    func loader() async throws {
        var bytes = try ByteReader(path: "/bin/true").readAll(limit: 1 << 24)
        let start = try #require(bytes.indices.first { bytes[$0...].starts(with: "/lib".utf8) })
        bytes.replaceSubrange(start..<start + 4, with: "/l9b".utf8)
        let file = unsafe open(folder["program"], O_WRONLY | O_CREAT | O_CLOEXEC, 0o700)
        #expect(unsafe write(file, bytes, bytes.count) == bytes.count)
        close(file)
        let why = try #require(ProgramProblem.find(folder["program"])?.why)
        #expect(why.hasPrefix("its loader /l9b") && why.hasSuffix(" does not exist: it is built for another system"))
        let run = ActionRun([folder["program"]])
        #expect(await run.receive() == "failed (r)")
        #expect(run.error == .unusable(program: folder["program"], why: why))
    }

    @Test("a program that does not exist is told by its absolute path, or as missing on PATH")
    func missing() throws {
        #expect(ProgramProblem.find(folder["none"])?.program == folder["none"])
        #expect(ProgramProblem.find(folder["none"])?.text == "not found")
        let relative = try #require(ProgramProblem.find("./no-such-program"))
        #expect(relative.program.hasPrefix("/") && relative.program.hasSuffix("/no-such-program"))
        #expect(ProgramProblem.find("no-such-program")?.text == "not found on PATH")
    }

    @Test("a program that can be started has no problem", arguments: ["sh", "/bin/sh", "/bin/true", "/proc/self/exe"])
    func fine(program: String) throws { #expect(ProgramProblem.find(program) == nil) }
}

@Suite("programs that cannot be started for want of something")
struct ProgramShortageTests {
    @Test(
        "reports a shortage once, pauses longer each time, and ends it with the next start",
        arguments: [(EMFILE, Shortage.Kind.descriptors), (ENFILE, .descriptors), (EAGAIN, .memory), (ENOMEM, .memory)])
    func pauses(number: Int32, kind: Shortage.Kind) throws {
        let changes = Mutex<[String]>([])
        let shortages = Shortages({ change in changes.withLock { $0.append("\(change)".prefix(9).description) } })
        let clock = ManualClock()
        let starts = ProgramStarts(shortages, clock: clock)
        try starts.check("p")
        for pause in [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000] {
            // Several at once are one lack.
            for _ in 0..<3 { #expect(starts.failed("p", ErrorNumber(rawValue: number))?.kind == kind) }
            #expect(throws: ProgramShortage(program: "p", kind: kind, number: ErrorNumber(rawValue: number))) {
                try starts.check("p")
            }
            clock.advance(by: .milliseconds(pause - 1))
            #expect(throws: ProgramShortage.self) { try starts.check("p") }
            clock.advance(by: .milliseconds(1))
            try starts.check("p")
        }
        #expect(shortages.current.map(\.kind) == [kind])
        starts.succeeded()
        #expect(shortages.current.isEmpty)
        #expect(changes.withLock { $0 } == ["short of ", "no longer"])
    }

    @Test("other failures are not shortages", arguments: [ENOENT, EACCES, E2BIG, ENOEXEC])
    func others(number: Int32) throws {
        let starts = ProgramStarts(Shortages())
        #expect(starts.failed("p", ErrorNumber(rawValue: number)) == nil)
        try starts.check("p")
    }

    @Test(
        "as many programs run at once as there are open files for, and always one",
        arguments: [(8, 1024, 8), (8, 160, 8), (8, 159, 7), (8, 64, 1), (8, 0, 1), (1000, 1024, 80)])
    func descriptors(programs: Int, descriptors: Int, fitting: Int) {
        #expect(DescriptorLimit.fitting(programs, descriptors) == fitting)
    }
}

@Suite("printing where there is no room")
struct LinePrinterTests {
    @Test("lack of space is a shortage until a line can be written")
    func fullDevice() throws {
        let shortages = Shortages()
        let folder = try Folder()
        // Writes to this device fail with ENOSPC; the descriptor is another file's afterwards.
        let output = unsafe open("/dev/full", O_WRONLY | O_CLOEXEC)
        defer { close(output) }
        let printer = LinePrinter(output, shortages)
        for _ in 1...2 {
            #expect(throws: ProgramShortage(program: "print", kind: .output, number: ErrorNumber(rawValue: ENOSPC))) {
                try printer.print("{}\n")
            }
            #expect(shortages.isShort(of: .output))
        }
        let file = unsafe open(folder["lines"], O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        dup2(file, output)
        close(file)
        try printer.print("{}\n")
        #expect(!shortages.isShort(of: .output))
        #expect(try String(contentsOfFile: folder["lines"], encoding: .utf8) == "{}\n")
    }

    @Test("writing where nobody reads is a failure, not a shortage")
    func broken() throws {
        let shortages = Shortages()
        let printer = LinePrinter(-1, shortages)
        #expect(throws: ProgramError.cannotPrint(ErrorNumber(rawValue: EBADF))) { try printer.print("{}\n") }
        #expect(shortages.current.isEmpty)
    }
}
