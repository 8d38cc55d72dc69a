import CLibrary
import KiiPushAgent
import KiiPushSystem

/// The output of a command; tests use one that records it.
struct Console: Sendable {
    var print: @Sendable (String) -> Void
    let error: @Sendable (String) -> Void
    /// Shows the progress of a long run, unchanged and without a line end; nil if nobody watches.
    var progress: (@Sendable (String) -> Void)?
    /// Whether it is this process's own standard output and error.
    var isStandard = false
    var ink = Ink.none
    var errorInk = Ink.none

    /// Standard output and standard error, each line written at once, so that a pipe's reader need not wait.
    static let standard = Console(
        print: { line in
            do throws(ErrorNumber) { try writeAll(line + "\n", to: STDOUT_FILENO) } catch { endOutput(error, .failed) }
        },
        error: { line in try? writeAll(line + "\n", to: STDERR_FILENO) },
        progress: isatty(STDERR_FILENO) == 1 ? { @Sendable text in try? writeAll(text, to: STDERR_FILENO) } : nil,
        isStandard: true, ink: .of(STDOUT_FILENO), errorInk: .of(STDERR_FILENO))

    func fail(_ text: String, _ code: ExitCode = .failed) -> ExitCode {
        error(text)
        return code
    }

    var desk: DeskConsole { DeskConsole(print: print, error: error) }

    /// The same for a command that runs until its reader closes the pipe, even while it prints nothing.
    var untilClosed: Console {
        guard isStandard else { return self }
        ignoreWriteSignals()
        startThread {
            var polled = [pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)]
            pollAll(&polled, for: nil)
            if polled[0].revents & Int16(POLLERR) != 0 { exitProcess(.fine) }
        }
        var console = self
        console.print = { line in
            do throws(ErrorNumber) { try writeAll(line + "\n", to: STDOUT_FILENO) } catch { endOutput(error, .fine) }
        }
        return console
    }
}

/// Ends the process, whose output cannot be written: with `code` if the reader has gone, else as a failure.
private func endOutput(_ error: ErrorNumber, _ code: ExitCode) -> Never {
    if error.rawValue == EPIPE { exitProcess(code) }
    try? writeAll("kiipush: standard output cannot be written: \(error)\n", to: STDERR_FILENO)
    exitProcess(.failed)
}

func exitProcess(_ code: ExitCode) -> Never { exitProcess(code.rawValue) }
