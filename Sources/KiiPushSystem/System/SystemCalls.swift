import CLibrary

/// Repeats a system call, which returns -1 and sets `errno` on failure, as long as a signal interrupts it.
package func retrying<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result != -1 || errno != EINTR { return result }
    }
}

/// Blocks until a non-blocking descriptor is ready; false if it cannot be waited for, with the reason in `errno`.
package func waitUntilReady(_ descriptor: Int32, for events: Int32) -> Bool {
    var polled = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    return retrying { unsafe poll(&polled, 1, -1) } >= 0
}

/// Reads once from a ready descriptor, as much as fits; 0 at the end, -1 on failure, with the reason in `errno`.
package func readOnce(_ descriptor: Int32, into buffer: inout [UInt8]) -> Int {
    unsafe buffer.withUnsafeMutableBytes { bytes in
        retrying { unsafe read(descriptor, bytes.baseAddress, bytes.count) }
    }
}

/// Whether this process's address space is limited to less than a GiB, of which each thread needs up to 72 MiB.
package var isAddressSpaceSmall: Bool {
    var limit = rlimit()
    return unsafe getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0 && limit.rlim_cur < 1 << 30
}

/// A variable of this process's environment; nil if it is not set, or not UTF-8: as a path, it would name another file.
package func environmentVariable(_ name: String) -> String? {
    unsafe getenv(name).flatMap { unsafe String(validatingCString: $0) }
}

/// The names in a directory, unordered; nil if it cannot be read.
package func entries(ofDirectory path: String) -> [String]? {
    guard let stream = unsafe opendir(path) else { return nil }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
        // The name ends with a zero byte within its 256, and is copied before the next entry is read.
        let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names
}
