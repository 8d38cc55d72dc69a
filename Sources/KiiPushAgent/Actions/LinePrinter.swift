import CLibrary
import KiiPushSystem
import Synchronization

/// Prints lines in sequence; reports a shortage while the output has no space for one.
final class LinePrinter: Sendable {
    private let output: Int32
    private let shortages: Shortages
    /// Whether the last line was cut, so that the next one must not look like its rest; whether it had no space.
    private let state = Mutex((isCut: false, isShort: false))

    init(_ output: Int32, _ shortages: Shortages) {
        (self.output, self.shortages) = (output, shortages)
    }

    /// Prints a line with its line feed, or throws ``ProgramShortage`` or ``ProgramError``; blocks while nobody reads.
    func print(_ line: String) throws {
        do throws(ErrorNumber) {
            let wasShort = try state.withLock { state throws(ErrorNumber) in
                try write(line, &state.isCut)
                defer { state.isShort = false }
                return state.isShort
            }
            if wasShort { shortages.end(.output) }
        } catch {
            guard [ENOSPC, EDQUOT, ENOMEM, ENOBUFS].contains(error.rawValue) else {
                throw ProgramError.cannotPrint(error)
            }
            state.withLock { $0.isShort = true }
            shortages.begin(.output, "messages cannot be printed (\(error)); they wait")
            throw ProgramShortage(program: "print", kind: .output, number: error)
        }
    }

    private func write(_ line: String, _ isCut: inout Bool) throws(ErrorNumber) {
        if isCut { try writeAll("\n", to: output) }
        isCut = false
        var written = 0
        defer { isCut = written > 0 && written < line.utf8.count }
        try writeAll(line, to: output, written: &written)
    }
}
