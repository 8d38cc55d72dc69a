import KiiPush

extension HTTPResponse {
    /// The limits for reading an answer: an object has at most 65,534 characters.
    private static let limits = PayloadLimits(bytes: 1 << 20, members: 16_384)

    func error() -> CloudError {
        // Not a refusal: the call may have been carried out.
        if (200..<300).contains(status) { return notUnderstood("this status is not documented for the call") }
        let wait = self[header: "Retry-After"].flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil }
        if status == 429 { return CloudError(.tooManyRequests, status: status, retryAfter: wait) }
        guard let fields = try? members(), let name = fields["errorCode"]?.string, !name.isEmpty else {
            return CloudError(.unknown, status: status, retryAfter: wait)
        }
        var code = CloudError.Code(name)
        // Of an error with one of these codes, the message is printed.
        if code == .unsendable || code == .notUnderstood { code = .unknown }
        let message = fields["message"]?.string ?? ""
        let hidden = ["errorCode", "message", "accessToken", "refreshToken", "token"]
        let others = KeyedData(fields.members.filter { !hidden.containsExactly($0.key) })
        return CloudError(code, status: status, retryAfter: wait, message: message, fields: others)
    }

    /// The members of the answer's object.
    ///
    /// - Throws: `CloudError` with the code `NOT_UNDERSTOOD` if the answer is not an object.
    func members() throws(CloudError) -> KeyedData {
        let text = body.span
        do throws(DecodeError) {
            guard case .object(let members) = DataValue(text, try JSONToken(only: text, Self.limits)) else {
                throw DecodeError(.notAnObject, at: 0, "expected an object")
            }
            return KeyedData(members)
        } catch { throw notUnderstood("the body: \(error)") }
    }

    /// The members of the answer's object, if the answer has one of the statuses.
    func members(of statuses: Int...) throws(CloudError) -> KeyedData {
        guard statuses.contains(status) else { throw error() }
        return try members()
    }

    func notUnderstood(_ what: String) -> CloudError {
        CloudError(.notUnderstood, status: status, message: what)
    }

    func text(_ key: String, in members: KeyedData) throws(CloudError) -> String {
        guard let text = members[key]?.string, !text.isEmpty else { throw notUnderstood("there is no \(key)") }
        return text
    }

    /// The version of the answer's object: the entity tag without its quotes.
    var version: String? {
        guard var tag = self[header: "ETag"]?[...] else { return nil }
        if tag.hasPrefix("W/") { tag = tag.dropFirst(2) }
        if tag.count >= 2, tag.hasPrefix("\""), tag.hasSuffix("\"") { tag = tag.dropFirst().dropLast() }
        return tag.isEmpty ? nil : String(tag)
    }
}
