@_spi(Hostile) import KiiPushTesting

/// Decodes and classifies any bytes, as each transport would bring them, and reads all there is to read.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
        try Invariants.check(payload: Array(UnsafeBufferPointer(start: start, count: count)))
    } catch {
        fatalError("does not hold: \(error)")
    }
    return 0
}
