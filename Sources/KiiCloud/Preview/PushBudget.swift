/// The size of a push for one network, and the possible savings.
public struct PushBudget: Sendable, Hashable {
    /// The payload's size with all keys that the server adds, in bytes of UTF-8.
    public let used: Int
    /// The network's limit; nil if Kii documents none.
    public let limit: Int?
    /// The bytes that turning off each switch would save; 0 for one that is off.
    public let saved: [SendSwitch: Int]

    /// The number of bytes left; negative if it is too large, nil without a limit.
    public var left: Int? { limit.map { $0 - used } }
}

extension OutgoingMessage {
    /// How much of a network's limit the push takes.
    ///
    /// - Parameters:
    ///   - network: the network.
    ///   - address: the topic, the sender, and the time.
    /// - Returns: the sizes of ``preview(_:sentTo:)``.
    public func budget(_ network: PushNetwork, sentTo address: PushAddress) -> PushBudget {
        let used = preview(network, sentTo: address).bytes
        var saved: [SendSwitch: Int] = [:]
        for key in SendSwitch.allCases {
            var smaller = self
            smaller.sends.remove(key)
            saved[key] = used - smaller.preview(network, sentTo: address).bytes
        }
        return PushBudget(used: used, limit: network.limit, saved: saved)
    }
}
