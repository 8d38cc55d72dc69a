import Glibc

/// Writes a text in one call, and what the system did not take of it in further ones.
///
/// - Throws: the number of the call that failed.
package func writeAll(_ text: String, to descriptor: Int32) throws(ErrorNumber) {
    let bytes = Array(text.utf8)
    var written = 0
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
