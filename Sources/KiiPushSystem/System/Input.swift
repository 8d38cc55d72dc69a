import CLibrary

/// Reads once from a ready descriptor, as much as fits; 0 at the end, -1 on failure, with the reason in `errno`.
package func readOnce(_ descriptor: Int32, into buffer: inout [UInt8]) -> Int {
    unsafe buffer.withUnsafeMutableBytes { bytes in
        retrying { unsafe read(descriptor, bytes.baseAddress, bytes.count) }
    }
}
