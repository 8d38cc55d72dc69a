import CLibrary
import KiiPushSystem
import Synchronization

/// Ends running programs when this process ends, for whatever reason.
///
/// The system can only end a process's direct children with it, not their descendants. So a shell reads from a pipe
/// which process groups begin and end, and when the pipe closes, as after SIGKILL, it sends SIGKILL to the rest. It
/// misses a program whose agent is killed within microseconds of the program's start, before the agent could report the
/// group.
final class ProgramGuardian: Sendable {
    private static let script = """
        trap '' HUP INT TERM
        groups=' '
        while read -r what id; do
            case $what in
                b) groups="$groups$id " ;;
                e) left=' '; for one in $groups; do [ "$one" = "$id" ] || left="$left$one "; done; groups=$left ;;
            esac
        done
        for one in $groups; do kill -s KILL -- "-$one"; done
        """

    /// The pipe's end; nil without a shell, whose start is retried with the next program.
    private let writeEnd = Mutex<Int32?>(nil)

    deinit {
        if let end = writeEnd.withLock({ $0 }) { close(end) }
    }

    /// Starts the shell if there is none; call it before starting a program, so that its group can be reported at once.
    func prepare() {
        writeEnd.withLock { end in end = end ?? Self.start() }
    }

    /// Records that a process group has begun.
    func began(_ group: pid_t) { tell("b \(group)\n") }

    /// Records that a process group has ended; call it before the id can be reused.
    func ended(_ group: pid_t) { tell("e \(group)\n") }

    private func tell(_ line: String) {
        writeEnd.withLock { end in
            if end == nil { end = Self.start() }
            guard let descriptor = end else { return }
            let bytes = Array(line.utf8)
            // Never blocks: nobody waits for the shell. A line this short is written completely. Another shell is
            // started only if this one has ended: one that still runs would keep the pipe open.
            guard unsafe write(descriptor, bytes, bytes.count) < 0, errno == EPIPE else { return }
            close(descriptor)
            end = nil
        }
    }

    /// Starts the shell, and returns the pipe to it; nil if it cannot be started.
    private static func start() -> Int32? {
        do throws(ErrorNumber) {
            var pipe = try ProgramPipe()
            ProgramPipe.makeNonBlocking(pipe.writeEnd)
            let shell = try RunningProcess(
                ["/bin/sh", "-c", script],
                .init(streams: [pipe.readEnd, -1, -1], hidden: ServiceManager.variables, isGroup: true, isLeft: true))
            shell.leave()
            return pipe.takeWriteEnd()
        } catch { return nil }
    }
}
