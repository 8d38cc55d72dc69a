import Glibc

/// A descriptor that this process has open.
struct OpenDescriptor {
    /// What it leads to, such as a file's path.
    let target: String
    let closesOnExec: Bool

    static var all: [OpenDescriptor] {
        (0..<1_024 as Range<Int32>).compactMap { descriptor in
            var target = [CChar](repeating: 0, count: 500)
            let count = unsafe readlink("/proc/self/fd/\(descriptor)", &target, target.count)
            guard count > 0 else { return nil }
            return OpenDescriptor(
                target: String(decoding: target.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self),
                closesOnExec: fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        }
    }
}
