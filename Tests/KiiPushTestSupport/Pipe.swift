import Glibc

/// A pipe, or with `.packets` one that keeps each `write` call's bytes apart from the next one's.
final class Pipe {
    enum Kind { case bytes, packets }

    let readEnd: Int32
    private(set) var writeEnd: Int32

    init(_ kind: Kind = .bytes) throws {
        var ends: [Int32] = [-1, -1]
        let type = kind == .bytes ? SOCK_STREAM : SOCK_SEQPACKET
        guard unsafe socketpair(AF_UNIX, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw TestFailure(what: "socketpair", code: errno)
        }
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    deinit {
        close(readEnd)
        endInput()
    }

    func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe Glibc.write(writeEnd, bytes, bytes.count)
    }

    /// One `read` call.
    func read() -> String {
        var bytes = [UInt8](repeating: 0, count: 100_000)
        let count = unsafe Glibc.read(readEnd, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    }

    /// Closes the write end, so that the reader comes to an end.
    func endInput() {
        if writeEnd >= 0 { close(writeEnd) }
        writeEnd = -1
    }

    func makeReadEndNonBlocking() {
        _ = fcntl(readEnd, F_SETFL, O_NONBLOCK)
    }
}

/// A descriptor that this process has open.
struct OpenDescriptor {
    let number: Int32
    /// What it leads to, such as a file's path.
    let target: String
    let closesOnExec: Bool

    static var all: [OpenDescriptor] {
        (0..<1_024 as Range<Int32>).compactMap { descriptor in
            var target = [CChar](repeating: 0, count: 500)
            let count = unsafe readlink("/proc/self/fd/\(descriptor)", &target, target.count)
            guard count > 0 else { return nil }
            return OpenDescriptor(
                number: descriptor,
                target: String(decoding: target.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self),
                closesOnExec: fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        }
    }
}
