/// Text in form encoding (CGI): a space is `+`, and special characters are `%` and two hexadecimal digits.
enum FormText {
    static func encode(_ text: String) -> String {
        var escaped = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: " "): escaped += "+"
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            default: escaped += byte.percentEncoded
            }
        }
        return escaped
    }

    /// Decodes an escaped text; nil if it escapes bytes that are not UTF-8.
    ///
    /// A `%` without two digits stays, because not every sender escapes.
    static func decode(_ text: String) -> String? {
        let escaped = Array(text.utf8)
        var bytes: [UInt8] = []
        var index = 0
        while index < escaped.count {
            let byte = escaped[index]
            if byte == UInt8(ascii: "%"), index + 2 < escaped.count,
                let high = Character(Unicode.Scalar(escaped[index + 1])).hexDigitValue,
                let low = Character(Unicode.Scalar(escaped[index + 2])).hexDigitValue
            {
                bytes.append(UInt8(high * 16 + low))
                index += 3
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                index += 1
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
