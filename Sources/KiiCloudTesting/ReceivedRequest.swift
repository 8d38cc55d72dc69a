import KiiCloud

/// A request as received, with the errors in its form.
struct ReceivedRequest {
    let request: HTTPRequest
    let violations: [String]

    /// Reads the request line and the headers, with the empty line; the request must name one of the hosts.
    init(head: ArraySlice<UInt8>, body: [UInt8], hosts: Set<String>) {
        var lines = Self.lines(head)
        let first = lines.isEmpty ? "" : lines.removeFirst()
        let words = first.split(separator: " ", omittingEmptySubsequences: false).map { String($0) }
        var wrong: [String] = []
        let method = words.first.flatMap { HTTPRequest.Method(rawValue: $0) }
        if method == nil || words.count != 3 || words.last != "HTTP/1.1" { wrong.append("a wrong request line") }
        var headers: [HTTPHeader] = []
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, parts[1].hasPrefix(" ") else {
                wrong.append("a wrong header line")
                continue
            }
            headers.append(HTTPHeader(String(parts[0]), String(parts[1].dropFirst())))
        }
        let called = headers.first { $0.name.lowercased() == "host" }?.value ?? ""
        request = HTTPRequest(
            method: method ?? .get, host: called, path: words.count > 1 ? words[1] : "", headers: headers, body: body)
        if !hosts.contains(called) { wrong.append("another Host") }
        let needsLength = method == .put || method == .post
        if needsLength != (request[header: "Content-Length"] != nil) {
            wrong.append("Content-Length where none is due, or none")
        }
        violations = wrong
    }

    /// The end of the headers, after the empty line; nil until it has arrived.
    static func endOfHeaders(_ bytes: [UInt8]) -> Int? {
        let end: [UInt8] = [13, 10, 13, 10]
        guard bytes.count >= end.count else { return nil }
        for place in 0...(bytes.count - end.count) where bytes[place] == 13 {
            if bytes[place..<place + end.count].elementsEqual(end) { return place + end.count }
        }
        return nil
    }

    /// How long the body is.
    static func bodyLength(_ head: ArraySlice<UInt8>) -> Int {
        for line in lines(head) where line.lowercased().hasPrefix("content-length:") {
            return max(Int(line.dropFirst("content-length:".count).drop { $0 == " " }) ?? 0, 0)
        }
        return 0
    }

    private static func lines(_ head: ArraySlice<UInt8>) -> [String] {
        let lines = head.split(separator: 10, omittingEmptySubsequences: true).map { line in
            String(decoding: line.last == 13 ? line.dropLast() : line, as: UTF8.self)
        }
        return lines.filter { !$0.isEmpty }
    }
}
