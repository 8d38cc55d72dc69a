import Glibc

/// Reads once from a descriptor that is ready, as much as there is and the buffer takes.
///
/// - Returns: the number of bytes; 0 at the end, -1 when it fails, and `errno` says why.
func readOnce(_ descriptor: Int32, into buffer: inout [UInt8]) -> Int {
    unsafe buffer.withUnsafeMutableBytes { bytes in
        retrying { unsafe read(descriptor, bytes.baseAddress, bytes.count) }
    }
}
