import KiiPush

/// Reads any text as a `kiicloud://` URI; what is one prints as it was read.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    if let uri = KiiURI(text) {
        precondition(uri.description == text)
        precondition(KiiURI(uri.description) == uri)
    }
    _ = KillTarget(text)
    return 0
}
