import Foundation
import Glibc
import KiiPush
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport

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

    @Test("a descriptor that nobody reads is a failure, as ever")
    func broken() throws {
        let shortages = Shortages()
        let printer = LinePrinter(-1, shortages)
        #expect(throws: ProgramError.cannotPrint(ErrorNumber(rawValue: EBADF))) { try printer.print("{}\n") }
        #expect(shortages.current.isEmpty)
    }
}
