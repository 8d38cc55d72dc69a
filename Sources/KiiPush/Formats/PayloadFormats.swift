/// The formats of other systems that a receiver reads, beside Kii's.
///
/// ```swift
/// let receiver = PushReceiver(formats: .shipped.adding(KeyValueLines()))
/// ```
///
/// Give the same formats wherever recorded payloads are decoded again: inboxes, dead letters and captures keep the
/// bytes, and a replay decodes them.
public struct PayloadFormats: Sendable, ExpressibleByArrayLiteral {
    private struct Entry: Sendable {
        let name: String
        let transport: Transport?
        let format: any PayloadFormat
    }

    private let entries: [Entry]
    /// Whether a format has a transport of its own.
    private let haveTransport: Bool

    /// CloudEvents, ntfy and QuickBlox.
    public static let shipped = PayloadFormats([CloudEventsFormat(), NtfyFormat(), QuickBloxFormat()])

    /// Exactly these formats; of two that claim one payload, the first one reads it.
    ///
    /// At most 16, with names and transports that differ.
    public init(_ formats: [any PayloadFormat]) {
        entries = formats.map { Entry(name: $0.name, transport: $0.transport, format: $0) }
        precondition(entries.count <= 16, "at most 16 formats")
        precondition(entries.allSatisfy { Self.isName($0.name) }, "a format's name is 1 to 64 of a-z, 0-9 and ._-")
        precondition(Set(entries.map(\.name)).count == entries.count, "two formats have one name")
        let transports = entries.compactMap(\.transport)
        precondition(Set(transports).count == transports.count, "two formats have one transport")
        precondition(transports.allSatisfy { $0.format == .unknown }, "this transport carries Kii's pushes")
        haveTransport = !transports.isEmpty
    }

    /// Exactly these formats.
    public init(arrayLiteral formats: any PayloadFormat...) { self.init(formats) }

    /// These formats and more.
    public func adding(_ more: any PayloadFormat...) -> PayloadFormats {
        PayloadFormats(entries.map(\.format) + more)
    }

    /// The formats' names, in order.
    public var names: [String] { entries.map(\.name) }

    private static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0.isDigit || (0x61...0x7A).contains($0) || "._-".utf8.contains($0) }
    }
}

/// A format's claim to a payload.
struct FormatClaim {
    let format: String
    let evidence: [String]
    let rivals: [String]
    let push: ForeignPush
}

extension PayloadFormats {
    /// Whether a payload of this transport has none of Kii's keys.
    func own(_ transport: Transport?) -> Bool {
        guard haveTransport, let transport, transport.format == .unknown else { return false }
        return entries.contains { $0.transport == transport }
    }

    /// Asks the formats about a payload, and lets the first that claims it read it.
    ///
    /// - Parameters:
    ///   - payload: the payload.
    ///   - besideTopic: whether it has a topic of Kii's, which weak evidence does not outweigh.
    /// - Returns: what was read; nil if no format claims it.
    /// - Throws: the error of the format that reads it, with the format's name.
    func claim(_ payload: borrowing PayloadView, besideTopic: Bool = false) throws(DecodeError) -> FormatClaim? {
        var first: (number: Int, evidence: Evidence)?
        var rivals: [String] = []
        // By index: a loop over the values would copy each.
        for index in entries.indices {
            guard let evidence = entries[index].format.recognise(payload), !(besideTopic && evidence.isWeak) else {
                continue
            }
            // Over its own transport, a format has no rival.
            if haveTransport, let own = entries[index].transport, own == payload.transport {
                (first, rivals) = ((index, evidence), [])
                break
            }
            if first == nil { first = (index, evidence) } else { rivals.append(entries[index].name) }
        }
        guard let (number, evidence) = first else { return nil }
        let entry = entries[number]
        do throws(DecodeError) {
            let push = try entry.format.read(payload).bounded(payload.limits)
            let keys = evidence.keys.prefix(16).map { Suggestion.shown($0) }
            return FormatClaim(format: entry.name, evidence: keys, rivals: rivals, push: push)
        } catch {
            throw error.named(entry.name, within: payload.isWrapped ? 0 : payload.bytes.count)
        }
    }

    /// Lets the formats read a payload that is not a JSON object.
    ///
    /// - Parameters:
    ///   - bytes: the payload.
    ///   - transport: its transport.
    ///   - limits: the limits of its size and structure.
    ///   - error: why it is no JSON object.
    /// - Returns: the text of a JSON object with its data, the root of that, and what was read.
    /// - Throws: the error of the format that reads it; the given one if no format claims it.
    func read(
        _ bytes: [UInt8], _ transport: Transport?, _ limits: PayloadLimits, or error: DecodeError
    ) throws(DecodeError) -> (text: [UInt8], root: RootMembers, content: ForeignContent) {
        switch error.code {
        // An object that another format could read only in part, or nothing.
        case .empty, .limitExceeded, .duplicateKey: throw error
        default: break
        }
        let view = PayloadView(bytes, count: bytes.count, transport, isObject: false, limits)
        guard let claim = try claim(view) else {
            guard APIReply.isOne(bytes.span) else { throw error }
            throw DecodeError(.notAPush, at: 0, "a reply of Kii's API over MQTT; only the push topic carries pushes")
        }
        let text = if case .json(let json) = claim.push.data { Array(json.utf8) } else { Array("{}".utf8) }
        let root = try claim.root(text, limits)
        return (text, root, ForeignContent(claim, claim.push, dataRange: 0..<text.count))
    }
}

extension FormatClaim {
    /// Reads the JSON text of the data.
    func root(_ text: [UInt8], _ limits: PayloadLimits) throws(DecodeError) -> RootMembers {
        do throws(DecodeError) {
            return try RootMembers(text.span, limits: limits)
        } catch {
            // Its offset refers to a text that the caller does not have.
            let detail = "\(format): in the data that the payload holds, at byte \(error.offset): \(error.detail)"
            throw DecodeError(error.code, at: 0, detail)
        }
    }

    /// Appends data that are not the payload's own members to the message's buffer; `appended` is checked.
    func content(appendingTo buffer: inout [UInt8], _ limits: PayloadLimits) throws(DecodeError) -> ForeignContent {
        guard case .json(let json) = push.data else { return ForeignContent(self, push, dataRange: nil) }
        let text = Array(json.utf8)
        // What was escaped in the payload may be longer when it is written again.
        let wide = PayloadLimits(bytes: limits.bytes * 6, depth: limits.depth, members: limits.members)
        _ = try root(text, wide)
        let start = buffer.count
        buffer += text
        return ForeignContent(self, push, dataRange: start..<buffer.count)
    }
}

extension DecodeError {
    /// The same with the name of the format that threw it, at a place inside the payload.
    fileprivate func named(_ format: String, within count: Int) -> DecodeError {
        let plain = detail.unicodeScalars.prefix(256).filter { $0.properties.generalCategory != .control }
        let detail = String(String.UnicodeScalarView(plain))
        return DecodeError(code, at: min(max(offset, 0), count), "\(format): \(detail)")
    }
}
