import CLibrary
import KiiPushAgent
import KiiPushSystem
import Synchronization

/// A terminal used as a full screen by one program; restored afterwards, even if a signal ends the program.
final class TopTerminal: Sendable {
    /// The terminal's previous mode; nil after it was restored.
    private let before: Mutex<termios?>
    private let ink: Ink

    /// Takes over the terminal; nil if standard input and output are not one, or it is one without a cursor.
    init?(_ ink: Ink) {
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1,
            !["", "dumb"].contains(environmentVariable("TERM") ?? "")
        else { return nil }
        var mode = termios()
        guard unsafe tcgetattr(STDIN_FILENO, &mode) == 0 else { return nil }
        before = Mutex(mode)
        self.ink = ink
        // Keys arrive one by one and without echo, including those that would be signals: Ctrl-C quits.
        mode.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
        unsafe tcsetattr(STDIN_FILENO, TCSANOW, &mode)
        // Uses the alternate screen, so that the old contents come back at the end, and hides the cursor.
        write("\u{1B}[?1049h\u{1B}[?25l")
    }

    /// Restores the terminal, only once.
    func restore() {
        let mode = before.withLock { mode in
            defer { mode = nil }
            return mode
        }
        guard var mode else { return }
        write("\u{1B}[?25h\u{1B}[?1049l")
        unsafe tcsetattr(STDIN_FILENO, TCSANOW, &mode)
    }

    /// Draws lines in place of the old ones; highlights `header` and problems.
    func draw(_ lines: [String], header: String) {
        guard before.withLock({ $0 != nil }) else { return }
        let drawn = lines.map { ink.status($0, header: header) }
        write("\u{1B}[H" + drawn.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J")
    }

    private func write(_ text: String) { try? writeAll(text, to: STDOUT_FILENO) }

    /// Waits for a key within a time limit; nil if none was pressed, or the terminal was resized.
    func key(within limit: Duration) async -> Character? {
        await withThread {
            let (end, size) = (ContinuousClock.now + limit, ScreenSize.current)
            repeat {
                var polled = [pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)]
                pollAll(&polled, for: min(.milliseconds(250), ContinuousClock.now.duration(to: end)))
                if polled[0].revents != 0 {
                    var byte: UInt8 = 0
                    // A closed terminal has no more keys.
                    return unsafe read(STDIN_FILENO, &byte, 1) == 1 ? Character(Unicode.Scalar(byte)) : "q"
                }
            } while ContinuousClock.now < end && ScreenSize.current == size
            return nil
        }
    }
}
