/// Why a payload is no push message, and where.
///
/// Never holds or prints a value of the payload, so that it can be logged. A payload that throws it is the outcome
/// ``Outcome/undecodable(_:)``.
public struct DecodeError: Error, Sendable, Hashable {
    /// What was wrong; the raw value is the name that the tool and the metrics use.
    @nonexhaustive
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// There is nothing, or nothing but white space.
        case empty
        /// A character that JSON does not allow in this place.
        case unexpectedCharacter
        /// The payload ends in the middle of a value.
        case unexpectedEnd
        /// A string holds bytes that are not UTF-8.
        case invalidUTF8
        /// A backslash that begins no escape, or half of a surrogate pair.
        case invalidEscape
        /// Something that begins as a number and is none, such as a number with a leading zero.
        case invalidNumber
        /// Well-formed JSON, but a push is an object.
        case notAnObject
        /// A key of the payload's own object is a duplicate, so two readers could disagree.
        case duplicateKey
        /// Larger, deeper or with more members than ``PayloadLimits`` allows.
        case limitExceeded
        /// A reply of Kii's API over MQTT: text with a start line, on the connection that also brings pushes.
        case notAPush
        /// QuickBlox's `event.message`, or its Base64, is broken.
        case badEncoding
    }

    /// What was wrong.
    public let code: Code

    /// Where, in bytes from the payload's first one.
    public let offset: Int

    /// What exactly, and what to do about it.
    public let detail: String

    package init(_ code: Code, at offset: Int, _ detail: String) {
        self.code = code
        self.offset = offset
        self.detail = detail
    }
}

extension DecodeError: CustomStringConvertible {
    /// The code, the place and the detail, on one line.
    public var description: String { "\(code.rawValue) at byte \(offset): \(detail)" }
}
