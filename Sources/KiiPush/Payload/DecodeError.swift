/// Why a payload is not a push message, and where.
///
/// It never contains a value of the payload, so it can be logged. A receiver ends such a payload as
/// ``Outcome/undecodable(_:)``.
public struct DecodeError: Error, Sendable, Hashable {
    /// What was wrong; the raw value is the name that the tool and the metrics use.
    @nonexhaustive
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The payload is empty or only white space.
        case empty
        /// A character that JSON does not allow at this position.
        case unexpectedCharacter
        /// The payload ends in the middle of a value.
        case unexpectedEnd
        /// A string contains bytes that are not UTF-8.
        case invalidUTF8
        /// A backslash that does not begin an escape, or half of a surrogate pair.
        case invalidEscape
        /// An invalid number, such as one with a leading zero.
        case invalidNumber
        /// Well-formed JSON, but not an object.
        case notAnObject
        /// A key of the payload's own object is a duplicate, so two readers could disagree.
        case duplicateKey
        /// Larger, deeper or with more members than ``PayloadLimits`` allows.
        case limitExceeded
        /// A reply of Kii's API over MQTT: text with a start line, on the connection that also brings pushes.
        case notAPush
        /// A ``PayloadFormat`` has recognised the payload, and found it broken.
        case badEncoding
    }

    /// What was wrong.
    public let code: Code

    /// The position, in bytes from the beginning of the payload.
    public let offset: Int

    /// The details, and what to do about it.
    public let detail: String

    /// States why a payload is refused; for a ``PayloadFormat``.
    ///
    /// - Parameters:
    ///   - code: what was wrong; `badEncoding` unless another one says more.
    ///   - offset: the position, in bytes from the beginning of the payload.
    ///   - detail: the details and what to do about it, without a value of the payload; 256 characters of it count.
    public init(_ code: Code, at offset: Int, _ detail: String) {
        self.code = code
        self.offset = offset
        self.detail = detail
    }
}

extension DecodeError: CustomStringConvertible {
    /// The code, the position and the detail, on one line.
    public var description: String { "\(code.rawValue) at byte \(offset): \(detail)" }
}
