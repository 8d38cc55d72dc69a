/// The limits of a payload's size and structure.
///
/// A payload beyond one of them causes a ``DecodeError`` with the code ``DecodeError/Code-swift.enum/limitExceeded``.
/// Kii's own limits are far below the defaults: 2 KiB for APNs, 4 KiB for FCM and MQTT.
public struct PayloadLimits: Sendable, Hashable {
    /// The largest payload, in bytes; at most 16 MiB.
    public let bytes: Int
    /// The deepest nesting, counting the payload's own object as 1; at most 64.
    public let depth: Int
    /// The most object members in the whole payload, nested ones included.
    public let members: Int

    /// 64 KiB, 32 levels, 1,024 members.
    public static let standard = PayloadLimits()

    package var tooLarge: DecodeError {
        DecodeError(.limitExceeded, at: bytes, "larger than \(bytes) bytes; raise the limit or send less")
    }

    /// Sets the limits; values out of range are clamped.
    public init(bytes: Int = 65_536, depth: Int = 32, members: Int = 1024) {
        self.bytes = min(max(bytes, 1), 16 << 20)
        self.depth = min(max(depth, 1), 64)
        self.members = max(members, 0)
    }
}
