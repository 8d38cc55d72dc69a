#if HTTP
import KiiCloud

/// The parts of an answer received so far, within limits.
struct AnswerParts {
    private(set) var headers: [HTTPHeader] = []
    private(set) var body: [UInt8] = []
    /// The limit that the answer has exceeded; nil while it is within all.
    private(set) var passedLimit: Int?
    /// Whether the empty line after the headers has arrived: libcurl accepts a closed connection in its place.
    private(set) var hasAllHeaders = false
    /// The bytes of all header lines, including those of interim answers.
    private var headerBytes = 0

    /// Whether further parts are rejected.
    var isTooLarge: Bool { passedLimit != nil }

    /// Appends a part of the body.
    mutating func addBody(_ bytes: [UInt8], limit: Int) {
        guard bytes.count <= limit - body.count else { return passedLimit = limit }
        body.append(contentsOf: bytes)
    }

    /// Adds a header line, including its end.
    mutating func addHeader(_ bytes: [UInt8], limit: Int) {
        headerBytes += bytes.count
        guard headerBytes <= limit else { return passedLimit = limit }
        var line = Substring(String(decoding: bytes, as: UTF8.self))
        while let last = line.unicodeScalars.last, last == "\r" || last == "\n" { line.unicodeScalars.removeLast() }
        hasAllHeaders = hasAllHeaders || line.isEmpty
        // After an interim answer, such as 100, another one begins.
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
