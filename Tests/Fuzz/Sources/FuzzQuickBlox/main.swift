@_spi(Hostile) import KiiPushTesting

/// Reads any text as QuickBlox's `event.message`; what is one is the same when it was encoded again.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
        let bytes = UnsafeBufferPointer(start: start, count: count)
        try Invariants.check(quickBloxEvent: String(decoding: bytes, as: UTF8.self))
    } catch {
        fatalError("does not hold: \(error)")
    }
    return 0
}
