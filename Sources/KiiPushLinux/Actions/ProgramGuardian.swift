import Glibc
import Synchronization

/// Ends the programs that still run when this process ends, however that ends.
///
/// The system ends only a process's children with it, if asked in the child, and not what those have started. So a
/// shell waits at a pipe: it is told which process groups begin and end, and when nobody is left to tell, as after
/// SIGKILL, it sends SIGKILL to the rest. A program whose agent is killed before it could name the group, within
/// microseconds of the program's start, is missed.
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

    /// The pipe's end; nil while there is no shell, which is tried again with the next program.
    private let writeEnd = Mutex<Int32?>(nil)

    deinit {
        if let end = writeEnd.withLock({ $0 }) { close(end) }
    }

    /// Starts the shell if there is none; call it before a program starts, so that its group is named at once.
    func prepare() {
        writeEnd.withLock { end in end = end ?? Self.start() }
    }

    /// Takes down that a process group has begun.
    func began(_ group: pid_t) { tell("b \(group)\n") }

    /// Takes down that a process group is over; call it before somebody else's group can have its id.
    func ended(_ group: pid_t) { tell("e \(group)\n") }

    private func tell(_ line: String) {
        writeEnd.withLock { end in
            if end == nil { end = Self.start() }
            guard let descriptor = end else { return }
            let bytes = Array(line.utf8)
            // At once or not at all: nobody waits for the shell. So short a line is written whole. Only when the shell
            // is gone another is needed: one that still runs would take the end of the pipe for ours.
            guard unsafe write(descriptor, bytes, bytes.count) < 0, errno == EPIPE else { return }
            close(descriptor)
            end = nil
        }
    }

    /// Starts the shell, and returns where it is told; nil when it cannot be had.
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
