#if MQTT
import CMosquitto
import CLibrary
import KiiPush

/// The properties of a packet of MQTT 5, valid during libmosquitto's callback.
///
/// The library allocates each text that it returns, and its caller frees it.
@safe
struct MosquittoProperties {
    private let list: OpaquePointer

    init(list: OpaquePointer) { unsafe self.list = list }

    /// A number, which `read` reads by its size; nil without one.
    func number<Number: FixedWidthInteger>(
        _ property: mqtt5_property,
        _ read: (OpaquePointer?, Int32, UnsafeMutablePointer<Number>?, Bool) -> OpaquePointer?
    ) -> Number? {
        var value: Number = 0
        let found = unsafe read(list, Int32(property.rawValue), &value, false)
        return unsafe found == nil ? nil : value
    }

    func text(_ property: mqtt5_property) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        guard unsafe mosquitto_property_read_string(list, Int32(property.rawValue), &value, false) != nil else {
            return nil
        }
        return unsafe Self.take(value)
    }

    func bytes(_ property: mqtt5_property) -> [UInt8]? {
        var (value, count): (UnsafeMutableRawPointer?, UInt16) = (nil, 0)
        guard unsafe mosquitto_property_read_binary(list, Int32(property.rawValue), &value, &count, false) != nil else {
            return nil
        }
        defer { unsafe free(value) }
        // Empty data has no address.
        return unsafe Array(UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : Int(count)))
    }

    func pairs(_ property: mqtt5_property) -> [MQTTPublish.UserProperty] {
        var pairs: [MQTTPublish.UserProperty] = []
        var next: OpaquePointer? = unsafe list
        var isFirst = true
        while let from = unsafe next {
            var (name, value): (UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?) = (nil, nil)
            unsafe next = mosquitto_property_read_string_pair(from, Int32(property.rawValue), &name, &value, !isFirst)
            isFirst = false
            guard unsafe next != nil else { break }
            pairs.append(.init(name: unsafe Self.take(name), value: unsafe Self.take(value)))
        }
        return pairs
    }

    private static func take(_ text: UnsafeMutablePointer<CChar>?) -> String {
        defer { unsafe free(text) }
        return unsafe text.map { unsafe String(cString: $0) } ?? ""
    }
}
#endif
