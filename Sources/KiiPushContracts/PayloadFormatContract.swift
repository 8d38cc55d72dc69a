public import KiiPush
@_spi(Hostile) import KiiPushTesting
public import Testing

/// All guarantees that a `PayloadFormat` must keep, as one test to run against your own format.
///
/// ```swift
/// @Test("my format meets the guarantees of a payload format")
/// func contract() async {
///     let payloads = ["id=1\nfrom=cellar\nkind=temp\nvalue=4", "id=2\nfrom=cellar\nkind=temp\nroom=b\n"]
///     await PayloadFormatContract(KeyValueLines(), payloads: payloads).verify()
/// }
/// ```
///
/// A failure names the broken guarantee, and which payload broke it by its number. The suite cuts and changes each
/// payload in some hundred ways, so give it a few small ones that differ: with and without what is optional.
public struct PayloadFormatContract: Sendable {
    let format: any PayloadFormat
    let payloads: [RawPayload]

    /// Prepares the suite.
    ///
    /// - Parameters:
    ///   - format: the format.
    ///   - payloads: valid payloads of the format, at least one, each another message; of any transport.
    public init(_ format: any PayloadFormat, payloads: [RawPayload]) {
        self.format = format
        self.payloads = payloads
    }

    /// The same for payloads that are text, without a transport.
    public init(_ format: any PayloadFormat, payloads: [String]) {
        self.init(format, payloads: payloads.map { RawPayload($0) })
    }

    /// Checks every guarantee, and records an issue for each one that is broken.
    ///
    /// - Parameter sourceLocation: the location of issues.
    public func verify(sourceLocation: SourceLocation = #_sourceLocation) async {
        await verify { guarantee, what in Issue.record("\(guarantee): \(what)", sourceLocation: sourceLocation) }
    }

    /// Checks every guarantee, and reports each broken one to `report`.
    package func verify(_ report: (_ guarantee: String, _ what: String) -> Void) async {
        if payloads.isEmpty { report("the suite has payloads", "there is none") }
        for guarantee in PayloadFormatGuarantee.all {
            for what in await guarantee.check(self) { report(guarantee.text, what) }
        }
    }

    var alone: PayloadFormats { [format] }

    var besideShipped: PayloadFormats {
        PayloadFormats.shipped.names.contains(format.name) ? .shipped : .shipped.adding(format)
    }

    /// Decodes each payload; nil for one that is refused.
    func messages(_ formats: PayloadFormats) -> [PushMessage?] {
        payloads.map { try? PushMessage($0, formats: formats) }
    }
}
