#if HTTP
import CCurl
import CLibrary
import KiiCloud

/// A request on libcurl's thread: the easy handle with its settings, and the answer so far.
@safe
final class Transfer {
    let exchange: Exchange
    /// Valid as long as the transfer; removed from libcurl's set before the transfer ends.
    let handle: UnsafeMutableRawPointer
    private let settings: CurlSettings
    private var headerList: UnsafeMutablePointer<curl_slist>?
    /// libcurl's error message, terminated by a zero.
    private let words: UnsafeMutablePointer<CChar>

    private var answer = AnswerParts()
    /// Whether the connection was established and the request possibly sent.
    private(set) var isSent = false

    /// Makes a handle; nil if memory is exhausted, or libcurl lacks a needed feature.
    init?(_ exchange: Exchange, _ settings: CurlSettings) {
        guard let made = unsafe curl_easy_init() else { return nil }
        self.exchange = exchange
        self.settings = settings
        unsafe handle = made
        unsafe words = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        guard prepare() else { return nil }
    }

    deinit {
        unsafe curl_easy_cleanup(handle)
        unsafe curl_slist_free_all(headerList)
        unsafe words.deallocate()
    }

    var id: UInt { unsafe UInt(bitPattern: handle) }

    // MARK: Settings

    private func prepare() -> Bool { prepareConnection() && prepareRequest() && prepareHeaders() && prepareAnswer() }

    private func set(_ option: CURLoption, _ number: Int) -> Bool {
        unsafe ccurl_set_number(handle, option, number) == CURLE_OK
    }

    private func set(_ option: CURLoption, _ text: String?) -> Bool {
        // libcurl makes its own copy.
        unsafe ccurl_set_text(handle, option, text) == CURLE_OK
    }

    private func prepareConnection() -> Bool {
        let (isPlain, left) = (exchange.address.isPlain, ContinuousClock.now.duration(to: exchange.deadline))
        let numbers: [(CURLoption, Int)] = [
            (CURLOPT_PATH_AS_IS, 1), (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_NOSIGNAL, 1),
            (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS)),
            // Several requests share an HTTP/2 connection instead of opening one each.
            (CURLOPT_PIPEWAIT, isPlain ? 0 : 1),
            // A cancelled name look-up does not delay other requests.
            (CURLOPT_QUICK_EXIT, 1),
            (CURLOPT_CONNECTTIMEOUT_MS, max(min(settings.connectLimit, left).inMilliseconds, 1)),
            (CURLOPT_TIMEOUT_MS, max(left.inMilliseconds, 1)),
            (CURLOPT_SSL_VERIFYPEER, 1), (CURLOPT_SSL_VERIFYHOST, 2),
            (CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
        ]
        var texts: [(CURLoption, String?)] = [
            (CURLOPT_URL, exchange.address.url), (CURLOPT_PROTOCOLS_STR, isPlain ? "http" : "https"),
        ]
        // The environment must not redirect a request to this machine.
        if isPlain { texts.append((CURLOPT_PROXY, "")) }
        if let caFile = settings.caFile { texts += [(CURLOPT_CAINFO, caFile), (CURLOPT_CAPATH, nil)] }
        if !settings.pinnedKeys.isEmpty {
            texts.append((CURLOPT_PINNEDPUBLICKEY, settings.pinnedKeys.joined(separator: ";")))
        }
        guard numbers.allSatisfy({ set($0, $1) }), texts.allSatisfy({ set($0, $1) }) else { return false }
        return unsafe ccurl_close_on_exec(handle) == CURLE_OK
    }

    private func prepareRequest() -> Bool {
        let request = exchange.request
        if request.method == .get { return true }
        if request.method != .delete || !request.body.isEmpty {
            // Sends a length of zero too, which servers require for PUT and POST.
            guard set(CURLOPT_POST, 1), set(CURLOPT_POSTFIELDSIZE, request.body.count), set(body: request.body) else {
                return false
            }
        }
        return set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
    }

    private func set(body: [UInt8]) -> Bool {
        // libcurl copies as many bytes as it was told before; with null it would ask for them.
        unsafe (body + [0]).withUnsafeBytes { bytes in
            unsafe ccurl_set_text(
                handle, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress?.assumingMemoryBound(to: CChar.self)) == CURLE_OK
        }
    }

    private func prepareHeaders() -> Bool {
        var lines = exchange.request.headers.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        lines.append("User-Agent: KiiPush")
        // Avoids a pause before a body, and a type without a body.
        lines.append("Expect:")
        if exchange.request[header: "Content-Type"] == nil { lines.append("Content-Type:") }
        for line in lines {
            guard let longer = unsafe curl_slist_append(headerList, line) else { return false }
            unsafe headerList = longer
        }
        return unsafe ccurl_set_headers(handle, headerList) == CURLE_OK
    }

    /// Registers libcurl's callbacks; it calls them only while the transfer is in its set, which retains the transfer.
    private func prepareAnswer() -> Bool {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        let codes = unsafe [
            ccurl_set_pointer(handle, CURLOPT_ERRORBUFFER, words),
            ccurl_set_pointer(handle, CURLOPT_WRITEDATA, context),
            ccurl_set_pointer(handle, CURLOPT_HEADERDATA, context),
            ccurl_set_pointer(handle, CURLOPT_PREREQDATA, context),
            ccurl_set_receiver(handle, CURLOPT_WRITEFUNCTION) { bytes, _, count, context in
                unsafe Transfer.of(context).take(bytes, count) { $0.addBody($1, limit: $2.bodyLimit) }
            },
            ccurl_set_receiver(handle, CURLOPT_HEADERFUNCTION) { bytes, _, count, context in
                unsafe Transfer.of(context).take(bytes, count) { answer, bytes, _ in
                    answer.addHeader(bytes, limit: CurlSettings.headerLimit)
                }
            },
            ccurl_set_prerequest(handle) { context, _, _, _, _ in
                unsafe Transfer.of(context).mayBeSent() ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
            },
        ]
        return codes.allSatisfy { $0 == CURLE_OK }
    }

    // MARK: Callbacks of libcurl

    private static func of(_ context: UnsafeMutableRawPointer?) -> Transfer {
        // Only `prepareAnswer` sets it, to a live transfer.
        unsafe Unmanaged<Transfer>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
    }

    /// Whether the request may be sent: after a reused connection turns out to be closed, libcurl would send it again,
    /// but a request that changes something must not be repeated.
    private func mayBeSent() -> Bool {
        defer { isSent = true }
        return !isSent || exchange.request.method == .get
    }

    /// Takes a part of the answer; returning a number other than `count` ends the transfer.
    private func take(
        _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int,
        _ add: (inout AnswerParts, [UInt8], CurlSettings) -> Void
    ) -> Int {
        unsafe add(&answer, Array(UnsafeRawBufferPointer(start: bytes, count: count)), settings)
        return answer.passedLimit == nil ? count : Int(CURL_WRITEFUNC_ERROR)
    }

    // MARK: The end

    func result(_ code: CURLcode) -> Result<HTTPResponse, any Error> {
        if code == CURLE_OK, !answer.hasAllHeaders {
            return .failure(CurlError.lost("the server closed it within the headers"))
        }
        if code == CURLE_OK {
            let status = unsafe ccurl_status(handle)
            return .success(HTTPResponse(status: status, headers: answer.headers, body: answer.body))
        }
        if let limit = answer.passedLimit { return .failure(CurlError.tooLarge(limit: limit)) }
        if code == CURLE_OPERATION_TIMEDOUT { return .failure(CurlError.timedOut(wasSent: isSent)) }
        let why = why(code)
        return .failure(isSent ? CurlError.lost(why) : .unreachable(why))
    }

    private func why(_ code: CURLcode) -> String {
        if code == CURLE_ABORTED_BY_CALLBACK { return "the server closed it" }
        var text = unsafe String(cString: words)
        if text.isEmpty { text = unsafe String(cString: curl_easy_strerror(code)) }
        return Self.shown(text)
    }

    /// libcurl's message, reduced to printable characters, and without the text of a variable, which may contain a
    /// password.
    static func shown(_ message: String) -> String {
        if message.hasPrefix("Unsupported proxy") { return "https_proxy or all_proxy is not the address of a proxy" }
        return String(decoding: message.utf8.filter { (0x20...0x7E).contains($0) }, as: UTF8.self)
    }
}

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

    mutating func addBody(_ bytes: [UInt8], limit: Int) {
        guard bytes.count <= limit - body.count else { return passedLimit = limit }
        body.append(contentsOf: bytes)
    }

    /// A line or a value without the white space around it.
    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isBlank: (UInt8) -> Bool = { " \t\r\n".utf8.contains($0) }
        guard let last = bytes.lastIndex(where: { !isBlank($0) }) else { return [] }
        return bytes[...last].drop(while: isBlank)
    }

    /// Adds a header line, including its end.
    mutating func addHeader(_ bytes: [UInt8], limit: Int) {
        headerBytes += bytes.count
        guard headerBytes <= limit else { return passedLimit = limit }
        let line = Self.trimmed(bytes[...])
        // After an interim answer, such as 100, another one begins.
        if line.starts(with: "HTTP/".utf8) {
            (headers, hasAllHeaders) = ([], false)
            return
        }
        hasAllHeaders = hasAllHeaders || line.isEmpty
        // A line behind the body is a trailer.
        guard !hasAllHeaders, let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        let value = Self.trimmed(line[(colon + 1)...])
        let name = String(decoding: line[..<colon], as: UTF8.self)
        headers.append(HTTPHeader(name, String(decoding: value, as: UTF8.self)))
    }
}
#endif
