import Foundation
import Glibc
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport

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
