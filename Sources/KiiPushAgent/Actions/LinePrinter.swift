import CLibrary
import KiiPushSystem
import Synchronization

/// Prints lines in sequence, so that two large ones do not interleave.
///
/// If the output has no space for a line, it reports a shortage until it has.
final class LinePrinter: Sendable {
    private struct State {
        /// Whether the last line was cut, so that the next one must not look like its rest.
        var isCut = false
        var isShort = false
    }

    private let output: Int32
    private let shortages: Shortages
    private let state = Mutex(State())

    init(_ output: Int32, _ shortages: Shortages) {
        self.output = output
        self.shortages = shortages
    }

    /// Prints a line, which ends with a line feed; blocks while nobody reads.
    ///
    /// - Throws: ``ProgramShortage`` if there is no space now, ``ProgramError/cannotPrint(_:)`` for any other reason.
    func print(_ line: String) throws {
        do throws(ErrorNumber) { try state.withLock { state throws(ErrorNumber) in try write(line, &state) } } catch {
            guard Self.isShortage(error) else { throw ProgramError.cannotPrint(error) }
            state.withLock { $0.isShort = true }
            shortages.begin(.output, "messages cannot be printed (\(error)); they wait")
            throw ProgramShortage(program: "print", kind: .output, number: error)
        }
        let wasShort = state.withLock { state in
            defer { state.isShort = false }
            return state.isShort
        }
        if wasShort { shortages.end(.output) }
    }

    private func write(_ line: String, _ state: inout State) throws(ErrorNumber) {
        if state.isCut { try writeAll("\n", to: output) }
        state.isCut = false
        var written = 0
        defer { state.isCut = written > 0 && written < line.utf8.count }
        try writeAll(line, to: output, written: &written)
    }

    private static func isShortage(_ number: ErrorNumber) -> Bool {
        [ENOSPC, EDQUOT, ENOMEM, ENOBUFS].contains(number.rawValue)
    }
}
