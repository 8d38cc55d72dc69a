import KiiPush

/// Reads any text as QuickBlox's `event.message`; what is one is the same when it was encoded again.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    do throws(DecodeError) {
        let event = try QuickBloxEvent(text)
        let again = try? QuickBloxEvent(event.encoded)
        precondition(again?.encoded == event.encoded, "what was encoded reads as something else")
    } catch {
        precondition((0...text.utf8.count).contains(error.offset), "an error outside the text")
    }
    return 0
}
