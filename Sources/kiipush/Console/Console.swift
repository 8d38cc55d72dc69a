import Glibc
import KiiPushLinux

/// Where a command's words go; tests give one that keeps them.
struct Console: Sendable {
    /// Prints a line for whoever asked.
    var print: @Sendable (String) -> Void
    /// Reports a line of trouble.
    let error: @Sendable (String) -> Void
    /// Shows how far a long run has come, as it is, without a line end; nil where nobody looks.
    var progress: (@Sendable (String) -> Void)?
    /// Reports a line as ``error`` does, and says whether that went well; nil where it always does.
    var tryError: (@Sendable (String) -> Bool)?
    /// Whether it is this process's own standard output and error.
    var isStandard = false
    /// The colours of what is printed.
    var ink = Ink.none
    /// The colours of what is reported.
    var errorInk = Ink.none

    /// Standard output and standard error, each line at once, so that a pipe's reader need not wait.
    static let standard = Console(
        print: { line in
            // Nobody is left to tell when standard output is gone; a tool whose output is lost has failed.
            do { try writeAll(line + "\n", to: STDOUT_FILENO) } catch { exitProcess(.failed) }
        },
        error: { line in try? writeAll(line + "\n", to: STDERR_FILENO) },
        progress: isatty(STDERR_FILENO) == 1 ? { @Sendable text in try? writeAll(text, to: STDERR_FILENO) } : nil,
        tryError: { line in (try? writeAll(line + "\n", to: STDERR_FILENO)) != nil }, isStandard: true,
        ink: .of(STDOUT_FILENO), errorInk: .of(STDERR_FILENO))

    /// The same for a command that goes on until nobody reads any more, which is its end and no failure.
    ///
    /// Notices that also while it prints nothing.
    var untilClosed: Console {
        guard isStandard else { return self }
        ignoreBrokenPipeSignal()
        startThread {
            var polled = [pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)]
            pollAll(&polled, for: nil)
            if polled[0].revents & Int16(POLLERR) != 0 { exitProcess(.fine) }
        }
        var console = self
        console.print = { line in
            do { try writeAll(line + "\n", to: STDOUT_FILENO) } catch { exitProcess(.fine) }
        }
        return console
    }
}

/// Ends the process, after what was written to C's streams has left.
///
/// Not by `exit`: what that cleans up, such as all that OpenSSL has, other threads still use; and a second signal may
/// have it called twice at once.
func exitProcess(_ code: ExitCode) -> Never {
    fflush(nil)
    _exit(code.rawValue)
}

/// A text of a payload or a command line, safe for one line of a terminal.
func escaped(_ text: String) -> String { EscapedText(text).description }
