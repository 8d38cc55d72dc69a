import CLibrary
import KiiCloud
import KiiPushAgent
import KiiPushSystem

/// A connection of a client, from its first request to its end.
struct ServedConnection {
    private let descriptor: Int32
    private let cloud: TestCloud
    private let hosts: Set<String>
    private var unread: [UInt8] = []

    private static let mostBytes = 1 << 20

    init(_ descriptor: Int32, _ cloud: TestCloud, hosts: Set<String>) {
        self.descriptor = descriptor
        self.cloud = cloud
        self.hosts = hosts
    }

    mutating func serve() {
        while let request = nextRequest() {
            let (response, fault) = cloud.answer(request.request, alsoWrong: request.violations)
            guard write(response, fault) else { return }
        }
    }

    // MARK: Requests

    private mutating func nextRequest() -> ReceivedRequest? {
        while true {
            if let end = ReceivedRequest.endOfHeaders(unread) {
                let length = ReceivedRequest.bodyLength(unread[..<end])
                if unread.count - end >= length {
                    let needed = end + length
                    defer { unread.removeFirst(needed) }
                    return ReceivedRequest(head: unread[..<end], body: Array(unread[end..<needed]), hosts: hosts)
                }
            }
            guard unread.count < Self.mostBytes, read() else { return nil }
        }
    }

    private mutating func read() -> Bool {
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = retrying { unsafe recv(descriptor, &bytes, bytes.count, 0) }
        guard count > 0 else { return false }
        unread += bytes.prefix(count)
        return true
    }

    // MARK: Answers

    /// Writes an answer with the fault, if any; false if the connection is to be closed.
    private mutating func write(_ response: HTTPResponse, _ fault: TestFault?) -> Bool {
        var body = response.body
        var more: [HTTPHeader] = []
        switch fault {
        case .rubbish: return deliver(Array("what is this?\r\n\r\n".utf8)) && false
        case .largeBody(let count): body = Array(repeating: UInt8(ascii: "x"), count: max(count, 0))
        case .largeHeaders(let count):
            more = (0..<max(count / 1000, 1)).map { HTTPHeader("X-\($0)", String(repeating: "x", count: 990)) }
        case nil, .status, .close, .stall, .slow: break
        }
        let head = Self.head(response, more, length: body.count)
        switch fault {
        case .close(let point): return deliver(Self.part(head, body, until: point)) && false
        case .stall(let point):
            guard deliver(Self.part(head, body, until: point)) else { return false }
            // Until the client closes; its data is ignored.
            while read() { unread = [] }
            return false
        case .slow: return sendSlowly(head + body)
        default: return deliver(head + body)
        }
    }

    private static func head(_ response: HTTPResponse, _ more: [HTTPHeader], length: Int) -> [UInt8] {
        var text = "HTTP/1.1 \(response.status) Test\r\n"
        for header in response.headers + more { text += "\(header.name): \(header.value)\r\n" }
        if response.status != 204 { text += "Content-Length: \(length)\r\n" }
        return Array((text + "\r\n").utf8)
    }

    private static func part(_ head: [UInt8], _ body: [UInt8], until point: TestFault.Point) -> [UInt8] {
        switch point {
        case .work, .answer: []
        case .headers: Array(head.prefix(head.count / 2))
        // Without a body, the headers are cut before their last line end.
        case .body: body.isEmpty ? head.dropLast(2) : head + body.prefix(body.count / 2)
        }
    }

    private func deliver(_ bytes: [UInt8]) -> Bool {
        var left = bytes[...]
        while !left.isEmpty {
            let count = unsafe left.withUnsafeBytes { buffer in
                retrying { unsafe send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL)) }
            }
            guard count > 0 else { return false }
            left = left.dropFirst(count)
        }
        return true
    }

    private func sendSlowly(_ bytes: [UInt8]) -> Bool {
        for byte in bytes {
            guard deliver([byte]) else { return false }
            // The client sends nothing now, so this only detects that it closed early.
            var polls = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
            pollAll(&polls, for: .milliseconds(20))
            if polls[0].revents != 0 { return false }
        }
        return true
    }
}

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
    static func endOfHeaders(_ bytes: [UInt8]) -> Int? { bytes.firstRange(of: [13, 10, 13, 10])?.upperBound }

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
