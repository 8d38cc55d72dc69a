import CLibrary

/// Writes a text in one call, or in further ones if the system accepts only a part.
package func writeAll(_ text: String, to descriptor: Int32) throws(ErrorNumber) {
    var written = 0
    try writeAll(text, to: descriptor, written: &written)
}

/// The same; `written` counts bytes, even on failure.
package func writeAll(_ text: String, to descriptor: Int32, written: inout Int) throws(ErrorNumber) {
    let bytes = Array(text.utf8)
    while written < bytes.count {
        let rest = written
        let count = unsafe bytes.withUnsafeBytes { buffer in
            retrying { unsafe write(descriptor, buffer.baseAddress?.advanced(by: rest), buffer.count - rest) }
        }
        if count >= 0 {
            written += count
        } else if errno != EAGAIN || !waitUntilReady(descriptor, for: POLLOUT) {
            throw .current
        }
    }
}

/// Writes at most 4,096 bytes of a text if that does not block, which a ready pipe accepts, and drops it otherwise.
package func writeIfReady(_ text: String, to descriptor: Int32) {
    var polled = [pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)]
    pollAll(&polled, for: .zero)
    guard polled[0].revents & Int16(POLLOUT) != 0 else { return }
    let bytes = Array(text.utf8.prefix(4096))
    _ = unsafe write(descriptor, bytes, bytes.count)
}

/// Occupies the standard descriptors that were closed, so that no other file gets their numbers, and messages or lines
/// of the log into it; reading and writing fail with `EBADF`, as if they were closed.
package func occupyStandardDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
        // The system assigns the lowest free number.
        _ = unsafe open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
}

/// Ends the process with an exit status, after flushing C's streams; without `exit`, since other threads still use what
/// that cleans up, such as OpenSSL's state.
package func exitProcess(_ status: Int32) -> Never {
    fflush(nil)
    _exit(status)
}
