#if HTTP
import KiiCloud

/// What has come of an answer so far, within bounds.
struct AnswerParts {
    private(set) var headers: [HTTPHeader] = []
    private(set) var body: [UInt8] = []
    /// The bound that the answer has passed; nil while it is within all.
    private(set) var passedLimit: Int?
    /// Whether the empty line behind the headers has come: libcurl takes an end of the connection for it too.
    private(set) var hasAllHeaders = false
    /// The bytes of all header lines, those of interim answers included.
    private var headerBytes = 0

    /// Whether no more is taken.
    var isTooLarge: Bool { passedLimit != nil }

    /// Takes a part of the body.
    mutating func addBody(_ bytes: [UInt8], limit: Int) {
        guard bytes.count <= limit - body.count else { return passedLimit = limit }
        body.append(contentsOf: bytes)
    }

    /// Takes a line of the headers, with its end.
    mutating func addHeader(_ bytes: [UInt8], limit: Int) {
        headerBytes += bytes.count
        guard headerBytes <= limit else { return passedLimit = limit }
        var line = Substring(String(decoding: bytes, as: UTF8.self))
        while let last = line.unicodeScalars.last, last == "\r" || last == "\n" { line.unicodeScalars.removeLast() }
        hasAllHeaders = hasAllHeaders || line.isEmpty
        // Behind an interim answer, such as 100, another one begins.
        if line.hasPrefix("HTTP/") {
            (headers, hasAllHeaders) = ([], false)
            return
        }
        guard let colon = line.firstIndex(of: ":") else { return }
        let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        headers.append(HTTPHeader(String(line[..<colon]), String(value)))
    }
}
#endif
