/// A payload format of another system than Kii: recognises its payloads, and reads what every receiver needs of them.
///
/// A payload that a format claims is a Direct Push of that format: it has the format's name in rules, traces, metrics
/// and reports, a strong deduplication key from its source and id, an order by its subject, and an age by its times.
/// Its bytes stay as they came. ``PayloadFormats/shipped`` has CloudEvents, ntfy and QuickBlox; the guide <doc:Formats>
/// shows a format of one's own.
///
/// A format is asked about every payload without evidence for Kii, JSON or not, before the payload counts as a Direct
/// Push of no format. It is called synchronously, perhaps on several threads at once, while the transport waits: decide
/// by a key or by the first bytes, and take time in proportion to the payload at most. The receiver bounds what a
/// format returns. An error that it throws refuses that payload alone. A trap would end the process, as in a handler.
public protocol PayloadFormat: Sendable {
    /// The name in rules, traces, metrics and reports: 1 to 64 lower-case letters, digits and `.`, `_`, `-`.
    ///
    /// It is read once, when the format is put into a ``PayloadFormats``.
    var name: String { get }

    /// The transport whose payloads never contain Kii's keys, so that the format is asked first; by default nil.
    ///
    /// Not one of `apns`, `fcm`, `jpush` and `mqtt`, which carry Kii's pushes. It is read once, like the name.
    var transport: Transport? { get }

    /// Whether a payload is of this format, and by which evidence; nil if it is not.
    ///
    /// Never return evidence for a payload that another format or a sender of Kii may have made by accident.
    func recognise(_ payload: borrowing PayloadView) -> Evidence?

    /// Reads a payload that ``recognise(_:)`` has recognised.
    ///
    /// - Throws: ``DecodeError`` if the payload is broken: the receiver refuses it, and names the format.
    func read(_ payload: borrowing PayloadView) throws(DecodeError) -> ForeignPush
}

extension PayloadFormat {
    /// No transport: the payload alone decides.
    public var transport: Transport? { nil }
}

/// Why a payload is of a format.
public struct Evidence: Sendable, Hashable {
    /// The keys of the payload that say so; empty if the transport or the shape of the bytes does.
    ///
    /// Names of keys only, never values: reports show them. The first 16 count.
    public let keys: [String]

    /// Whether a sender of Kii may have these keys as data, so that a `topic` beside them makes a Push to User.
    ///
    /// Any other key of Kii's that proves its kind comes before every format.
    public let isWeak: Bool

    /// States evidence.
    public init(_ keys: [String] = [], isWeak: Bool = false) {
        self.keys = keys
        self.isWeak = isWeak
    }
}
