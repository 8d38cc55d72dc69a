/// The formats of other systems that a receiver reads, beside Kii's.
///
/// ```swift
/// let receiver = PushReceiver(formats: .shipped.adding(KeyValueLines()))
/// ```
///
/// Give the same formats wherever recorded payloads are decoded again: inboxes, dead letters and captures keep the
/// bytes, and a replay decodes them.
public struct PayloadFormats: Sendable {
    private struct Entry: Sendable {
        let name: String
        let transport: Transport?
        let format: any PayloadFormat

        init(_ format: any PayloadFormat) {
            (name, transport, self.format) = (format.name, format.transport, format)
        }
    }

    /// The formats; nil for the shipped ones, so that nobody counts references to them.
    private let given: [Entry]?

    private var entries: [Entry] { given ?? Self.shippedEntries }
    private static let shippedEntries = [
        Entry(CloudEventsFormat()), Entry(NtfyFormat()), Entry(QuickBloxFormat()),
    ]

    /// CloudEvents, ntfy and QuickBlox.
    public static var shipped: PayloadFormats { PayloadFormats() }

    private init() { given = nil }

    /// Exactly these formats, at most 16, with different names and transports; of two that claim one payload, the first
    /// reads it.
    public init(_ formats: [any PayloadFormat]) {
        let entries = formats.map { Entry($0) }
        precondition(entries.count <= 16, "at most 16 formats")
        for (index, entry) in entries.enumerated() {
            precondition(Self.isName(entry.name), "the format '\(entry.name)' needs a name of 1 to 64 of a-z, 0-9, ._-")
            let others = entries[..<index]
            precondition(!others.contains { $0.name == entry.name }, "there are two formats '\(entry.name)'")
            guard let transport = entry.transport else { continue }
            precondition(!others.contains { $0.transport == transport }, "two formats have transport '\(transport)'")
            precondition(transport.format == .unknown, "the transport '\(transport)' carries Kii's pushes")
        }
        given = entries
    }

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

extension PayloadFormats {
    /// Reads a payload as a JSON object, or lets the formats read it; returns what a format has read.
    ///
    /// Then the buffer has the text of a JSON object with the data, and `raw` the bytes. Nil is a JSON object that may
    /// be Kii's; if there is none and no format claims the payload, the error says why.
    func read(
        _ buffer: inout [UInt8], into root: inout RootMembers, _ raw: inout RawPayload, _ limits: PayloadLimits
    ) throws(DecodeError) -> ForeignContent? {
        do throws(DecodeError) {
            try root.read(buffer.span, limits: limits)
        } catch {
            let claim = try claim(buffer, raw.transport, limits, error)
            raw.bytes = buffer
            buffer = if case .json(let json) = claim.push.data { Array(json.utf8) } else { Array("{}".utf8) }
            // What the payload stands for has the payload's own limit: a short text may stand for a long one.
            root = try claim.root(buffer, limits)
            return ForeignContent(claim, buffer.count, dataRange: 0..<buffer.count)
        }
        // Over the transport of a format, a payload has none of Kii's keys.
        guard let transport = raw.transport, transport.format == .unknown,
            entries.contains(where: { $0.transport == transport })
        else { return nil }
        let view = PayloadView(buffer, count: buffer.count, transport, keyBits: root.keyBits, limits)
        return try claim(view, appendingTo: &buffer)
    }

    /// Asks the formats about a payload that is no JSON object, because of an error.
    private func claim(
        _ bytes: [UInt8], _ transport: Transport?, _ limits: PayloadLimits, _ error: DecodeError
    ) throws(DecodeError) -> FormatClaim {
        switch error.code {
        // An object that another format could read only in part, or nothing.
        case .empty, .limitExceeded, .duplicateKey: throw error
        default: break
        }
        let view = PayloadView(bytes, count: bytes.count, transport, keyBits: nil, limits)
        if let claim = try claim(view) { return claim }
        guard APIReply.isOne(bytes.span) else { throw error }
        throw DecodeError(.notAPush, at: 0, "a reply of Kii's API over MQTT; only the push topic carries pushes")
    }

    /// Asks the formats about a JSON object, and lets the first that claims it read it.
    ///
    /// Appends data that are not its own members to the buffer. Weak evidence does not outweigh a topic of Kii's.
    func claim(
        _ view: borrowing PayloadView, appendingTo buffer: inout [UInt8], besideTopic: Bool = false
    ) throws(DecodeError) -> ForeignContent? {
        guard let claim = try claim(view, besideTopic: besideTopic) else { return nil }
        guard case .json(let json) = claim.push.data else { return ForeignContent(claim, view.count, dataRange: nil) }
        let text = Array(json.utf8)
        // What was escaped in the payload may be longer when it is written again.
        let limits = PayloadLimits(
            bytes: view.limits.bytes * 6, depth: view.limits.depth, members: view.limits.members)
        _ = try claim.root(text, limits)
        let start = buffer.count
        buffer += text
        return ForeignContent(claim, view.count, dataRange: start..<buffer.count)
    }

    private func claim(
        _ payload: borrowing PayloadView, besideTopic: Bool = false
    ) throws(DecodeError) -> FormatClaim? {
        var first: (number: Int, evidence: Evidence)?
        var rivals: [String] = []
        let entries = entries
        // By index: a loop over the values would copy each.
        for index in entries.indices {
            guard let evidence = entries[index].format.recognise(payload), !(besideTopic && evidence.isWeak) else {
                continue
            }
            // Over its own transport, a format has no rival.
            if let own = entries[index].transport, own == payload.transport {
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
}

struct FormatClaim {
    let format: String
    let evidence: [String]
    let rivals: [String]
    let push: ForeignPush

    func root(_ text: [UInt8], _ limits: PayloadLimits) throws(DecodeError) -> RootMembers {
        do throws(DecodeError) {
            return try RootMembers(text.span, limits: limits)
        } catch {
            // Its offset refers to a text that the caller does not have.
            let detail = "\(format): in the data that the payload holds, at byte \(error.offset): \(error.detail)"
            throw DecodeError(error.code, at: 0, detail)
        }
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
