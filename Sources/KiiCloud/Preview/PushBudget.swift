/// How large a push is for one network, and what would make it smaller.
public struct PushBudget: Sendable, Hashable {
    /// The payload's size with all that the server adds, in bytes of UTF-8.
    public let used: Int
    /// The most that the network takes; nil where Kii documents none.
    public let limit: Int?
    /// What turning off each switch would save, in bytes; 0 for one that is off.
    public let saved: [SendSwitch: Int]

    /// How many bytes are left; negative when it is too large, nil without a limit.
    public var left: Int? { limit.map { $0 - used } }
}

extension OutgoingMessage {
    /// How much of a network's limit the push takes.
    ///
    /// - Parameters:
    ///   - network: the network.
    ///   - address: to which topic it is sent, by whom, and when.
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
