#if MQTT
import CMosquitto
import CLibrary
import KiiPush
import KiiPushSystem

extension MosquittoClient {
    /// Makes an error from a code, with the text of the library that defines it.
    func check(_ code: Int32) throws(End) {
        guard code != MOSQ_ERR_SUCCESS.rawValue else { return }
        let number = ErrorNumber.current
        let (what, isByBroker): (String, Bool) =
            switch code {
            // These codes are not of the kind that their position suggests.
            case MOSQ_ERR_EAI.rawValue:
                unsafe ("the host was not found: \(String(cString: gai_strerror(number.rawValue)))", false)
            case MOSQ_ERR_ERRNO.rawValue where number.rawValue == EPROTO: ("the encrypted link was refused", false)
            // No call has failed: the peer has closed the connection without a packet.
            case MOSQ_ERR_ERRNO.rawValue where number.rawValue == 0: ("the broker closed the link", true)
            case MOSQ_ERR_CONN_LOST.rawValue where number.rawValue == ECONNRESET:
                ("the broker closed the link: \(number)", true)
            case MOSQ_ERR_CONN_LOST.rawValue: ("the broker closed the link", true)
            case MOSQ_ERR_ERRNO.rawValue: ("\(number)", false)
            // Also a disconnect packet without a reason, which the library does not know.
            case MOSQ_ERR_PROTOCOL.rawValue where version == .v5:
                ("the broker ended the link without a reason, or sent what is no MQTT 5", false)
            case MOSQ_ERR_KEEPALIVE.rawValue: ("the broker did not answer within the keep-alive", true)
            default: unsafe (String(cString: mosquitto_strerror(code)), false)
            }
        let complaints = arrivals.complaints.takeAll().map { EscapedText($0).description }.joined(separator: "; ")
        throw .lost(complaints.isEmpty ? what : "\(what) (\(complaints))", isByBroker: isByBroker)
    }

    /// The library's text for a code in a broker's answer.
    static func reason(connection code: Int32, _ version: MQTTSettings.Version) -> String {
        if version == .v5 { return reason(code) }
        return unsafe String(cString: mosquitto_connack_string(code))
    }

    /// The text for a code with which an MQTT 5 broker ends a connection, or refuses a subscription.
    static func reason(_ code: Int32) -> String { unsafe String(cString: mosquitto_reason_string(code)) }

    /// The version of the loaded library, such as 2000011.
    static var libraryNumber: Int32 { mosquitto_lib_version(nil, nil, nil) }

    /// The version of the loaded library, such as 2.0.11.
    static var libraryVersion: String {
        var (major, minor, revision): (Int32, Int32, Int32) = (0, 0, 0)
        unsafe _ = mosquitto_lib_version(&major, &minor, &revision)
        return "\(major).\(minor).\(revision)"
    }
}
#endif
