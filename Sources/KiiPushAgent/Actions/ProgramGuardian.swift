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

    private struct State {
        /// The pipe's end; nil without a shell, whose start is retried with the next program.
        var writeEnd: Int32?
        var groups: Set<pid_t> = []

        /// Starts a shell, and names all groups to it.
        mutating func start() {
            writeEnd = ProgramGuardian.start()
            _ = send(groups.map { "b \($0)\n" }.joined())
        }

        /// Sends a few lines to the shell, which never blocks; false if the shell has ended.
        func send(_ lines: String) -> Bool {
            guard let writeEnd else { return false }
            let bytes = Array(lines.utf8)
            return unsafe write(writeEnd, bytes, bytes.count) >= 0 || errno != EPIPE
        }
    }

    private let state = Mutex(State())

    deinit {
        if let end = state.withLock({ $0.writeEnd }) { close(end) }
    }

    /// Starts the shell if there is none; call it before starting a program, so that its group can be reported at once.
    func prepare() { state.withLock { state in if state.writeEnd == nil { state.start() } } }

    func began(_ group: pid_t) {
        state.withLock { state in
            state.groups.insert(group)
            Self.tell("b \(group)\n", &state)
        }
    }

    /// Records that a process group has ended; call it before the id can be reused.
    func ended(_ group: pid_t) {
        state.withLock { state in
            state.groups.remove(group)
            Self.tell("e \(group)\n", &state)
        }
    }

    private static func tell(_ line: String, _ state: inout State) {
        guard !state.send(line) else { return }
        // Another shell is started only if this one has ended: one that still runs would keep the pipe open.
        if let end = state.writeEnd { close(end) }
        state.start()
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
