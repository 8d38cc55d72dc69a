@_spi(Hostile) import KiiPushTesting

/// Reads any text as a `kiicloud://` URI; what is one prints as it was read.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
        let bytes = UnsafeBufferPointer(start: start, count: count)
        try Invariants.check(uri: String(decoding: bytes, as: UTF8.self))
    } catch {
        fatalError("does not hold: \(error)")
    }
    return 0
}
