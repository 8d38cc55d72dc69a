public import KiiPush
public import KiiPushDelivery
public import KiiPushMQTT
import KiiPushSystem

extension PushTransport where Self == LinesTransport {
    /// Standard input, a payload a line; see ``LinesTransport``.
    public static var stdin: LinesTransport { LinesTransport() }
}

extension PushTransport where Self == SocketTransport {
    /// A Unix socket, a payload a line, and an answer to each; see ``SocketTransport``.
    ///
    /// - Parameters:
    ///   - path: the socket's path, at most 107 bytes.
    ///   - transport: the network of the payloads, if known.
    /// - Returns: the source.
    public static func unix(_ path: String, transport: Transport? = nil) -> SocketTransport {
        SocketTransport(path: path, transport: transport)
    }
}

extension PushTransport where Self == MQTTSource {
    /// A broker, `mqtt[s]://[user@]host[:port]/topic`, with MQTT 3.1.1, quality of service 1 and a persistent session.
    ///
    /// The topic may be a filter with `+` and `#`; for several, pass settings.
    /// The client id is generated and kept in the state directory. An address that is wrong ends the run.
    public static func mqtt(_ address: String) -> MQTTSource { MQTTSource { try MQTTSettings(address: address) } }

    /// A broker with settings; without a client id in them, one is generated and kept in the state directory.
    public static func mqtt(_ settings: MQTTSettings) -> MQTTSource { MQTTSource { settings } }
}
