import Foundation
import Glibc

/// A program that was started, with pipes to its input and from its output.
struct Child {
    struct Failed: Error, CustomStringConvertible {
        let description: String
    }

    /// How long any one run may take.
    private static let limit = Duration.seconds(600)

    private let command: [String]
    private let process: pid_t
    private let input: Int32
    private let output: Int32
    private let start: ContinuousClock.Instant

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - command: its path and its arguments.
    ///   - text: what its input holds at once, at most what a pipe takes; the input stays open until `end`.
    /// - Throws: why it was not started.
    init(_ command: [String], input text: String = "") throws {
        self.command = command
        let (childInput, parentInput) = try Self.pipe()
        let (parentOutput, childOutput) = try Self.pipe()
        (input, output) = (parentInput, parentOutput)
        _ = Array(text.utf8).withUnsafeBytes { write(parentInput, $0.baseAddress, $0.count) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, childInput, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, childOutput, STDOUT_FILENO)
        var vector = command.map { strdup($0) } + [nil]
        defer { vector.forEach { free($0) } }
        var process: pid_t = 0
        start = .now
        let error = posix_spawnp(&process, command[0], &actions, nil, &vector, environ)
        close(childInput)
        close(childOutput)
        self.process = process
        guard error == 0 else {
            close(input)
            close(output)
            throw Failed(description: "\(command[0]) was not started: \(String(cString: strerror(error)))")
        }
    }

    private static func pipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw Failed(description: "there is no pipe left") }
        // The program gets copies of its two ends, and nothing of the others.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    /// Waits for the first line of its output; returns how long it took from the start.
    func firstLine() throws -> Duration {
        while true {
            let part = try read()
            if part.contains(UInt8(ascii: "\n")) { return start.duration(to: .now) }
            if part.isEmpty { throw Failed(description: "\(shown) has ended without a line") }
        }
    }

    /// The most memory that has been resident so far, in kilobytes, as the kernel counts it.
    var residentPeak: Int? {
        guard let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8) else { return nil }
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    }

    /// Closes its input and waits for its end; returns the rest of its output, and how long it ran.
    func end() throws -> (output: [UInt8], time: Duration) {
        close(input)
        defer { close(output) }
        var text: [UInt8] = []
        do {
            while case let part = try read(), !part.isEmpty { text += part }
        } catch {
            kill(process, SIGKILL)
            waitpid(process, nil, 0)
            throw error
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        let time = start.duration(to: .now)
        guard status == 0 else {
            let (signal, code) = (status & 0x7f, status >> 8 & 0xff)
            throw Failed(description: "\(shown) ended with \(signal == 0 ? "\(code)" : "signal \(signal)")")
        }
        return (text, time)
    }

    /// The next part of its output; nothing at its end.
    private func read() throws -> [UInt8] {
        let left = (start + Self.limit).duration(to: .now) / .milliseconds(-1)
        var poll = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        guard Glibc.poll(&poll, 1, Int32(max(left, 0))) > 0 else {
            throw Failed(description: "\(shown) has not ended within \(Self.limit)")
        }
        var part = [UInt8](repeating: 0, count: 1 << 16)
        let count = Glibc.read(output, &part, part.count)
        guard count >= 0 else { throw Failed(description: "\(shown): its output cannot be read") }
        return Array(part[..<count])
    }

    private var shown: String { command.joined(separator: " ") }

    /// Runs a program to its end.
    static func run(_ command: [String]) throws -> (output: [UInt8], time: Duration) { try Child(command).end() }
}
