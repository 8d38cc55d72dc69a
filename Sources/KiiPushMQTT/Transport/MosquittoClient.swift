#if MQTT
import CMosquitto
import CLibrary
import KiiPush
import KiiPushSystem

/// One connection to a broker, from the first packet until it is lost; the next connection uses a new client.
///
/// All calls of libmosquitto are here and in ``MosquittoInbox``, with all unsafe code of that kind. Releasing it closes
/// the connection without a disconnect packet, and unsent packets, including acknowledgements, are never sent.
@safe
struct MosquittoClient: ~Copyable {
    // Valid from `init` to `deinit`, and passed only to `arrivals`, which does not keep it.
    private let handle: OpaquePointer
    let arrivals: MosquittoInbox
    let version: MQTTSettings.Version

    /// Why a call failed: `lost`.
    typealias End = MQTTSession.End

    /// How many bytes more than its payload a packet may have, for topic and properties; a broker drops larger ones.
    private static let mostAround = 131_072

    /// How many messages an MQTT 5 broker may send before it waits for acknowledgements.
    static let window: Int32 = 64
    /// The usual window of brokers, which none of them states; mosquitto's.
    static let usualWindow = 20

    /// Makes a handle; sends nothing yet.
    init(_ settings: MQTTSettings, clientID: String, _ arrivals: MosquittoInbox) throws(End) {
        Self.initialized
        guard let made = unsafe mosquitto_new(clientID, settings.cleanSession, arrivals.context) else {
            throw .lost("no handle: \(ErrorNumber.current)")
        }
        unsafe handle = made
        self.arrivals = arrivals
        version = settings.version
    }

    deinit { unsafe mosquitto_destroy(handle) }

    private func prepare(
        _ settings: MQTTSettings, _ files: LinkFiles.Contents, _ encryption: OpenSSL.Context?,
        _ quality: MQTTSettings.Quality
    ) throws(End) {
        // Makes only `write` send the queue. Without it acknowledgements are sent before `take` was called.
        try check(unsafe mosquitto_threaded_set(handle, true))
        try check(unsafe mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, settings.version.number))
        try check(unsafe mosquitto_int_option(handle, MOSQ_OPT_RECEIVE_MAXIMUM, Self.window))
        try check(unsafe mosquitto_int_option(handle, MOSQ_OPT_TCP_NODELAY, 1))
        if let user = settings.user { try check(unsafe mosquitto_username_pw_set(handle, user, files.password)) }
        if let will = settings.will {
            try check(
                unsafe mosquitto_will_set(
                    handle, will.topic, Int32(will.payload.count), will.payload, Int32(quality.rawValue),
                    will.isRetained))
        }
        if let encryption {
            // As libmosquitto has set it up for an earlier client, with the check of the host's name.
            try check(unsafe mosquitto_void_option(handle, MOSQ_OPT_SSL_CTX, encryption.pointer))
            try check(unsafe mosquitto_int_option(handle, MOSQ_OPT_SSL_CTX_WITH_DEFAULTS, 0))
        } else if settings.usesTLS {
            try secure(settings, keyFile: files.keyFile)
        }
        unsafe arrivals.listen(to: handle)
    }

    /// The library is initialized once and never cleaned up: it counts its users without a lock.
    private static let initialized: Void = {
        preventOpenSSLCleanup()
        _ = mosquitto_lib_init()
    }()

    private func secure(_ settings: MQTTSettings, keyFile: String?) throws(End) {
        let caFile = settings.caFile
        if caFile == nil { try check(unsafe mosquitto_int_option(handle, MOSQ_OPT_TLS_USE_OS_CERTS, 1)) }
        if caFile != nil || keyFile != nil {
            // The library accepts a client certificate only with a location of authorities: the system's, if no file is
            // named.
            let folder = caFile == nil ? OpenSSL.systemCertificates : nil
            // Without the callback OpenSSL would ask for a passphrase on the terminal.
            try check(
                unsafe mosquitto_tls_set(handle, caFile, folder, settings.certificateFile, keyFile) { _, _, _, _ in 0 })
        }
        // 1 is SSL_VERIFY_PEER; the host's name is checked unless `mosquitto_tls_insecure_set` is called, which never
        // happens.
        try check(unsafe mosquitto_tls_opts_set(handle, 1, "tlsv1.2", nil))
    }

    // MARK: The beginning and the end

    /// Starts to send the first packet, with the encryption of an earlier connection with the same settings and files,
    /// and the will with this quality of service.
    ///
    /// It may block in the resolver, and with MQTT 5 until the host answers.
    func connect(
        _ settings: MQTTSettings, _ files: LinkFiles.Contents, _ encryption: OpenSSL.Context?,
        _ quality: MQTTSettings.Quality = .one
    ) throws(End) {
        arrivals.failedEncryption = nil
        try prepare(settings, files, encryption, quality)
        let keepAlive = Int32(settings.keepAlive)
        if version == .v5 {
            var properties: OpaquePointer?
            // Freed below in any case; the library makes its own copy.
            defer { unsafe mosquitto_property_free_all(&properties) }
            let expiry: UInt32 = settings.cleanSession ? 0 : .max
            let packet = UInt32(clamping: settings.payloadLimit + Self.mostAround)
            for (property, value) in [
                (MQTT_PROP_SESSION_EXPIRY_INTERVAL, expiry), (MQTT_PROP_MAXIMUM_PACKET_SIZE, packet),
            ] { try check(unsafe mosquitto_property_add_int32(&properties, Int32(property.rawValue), value)) }
            // No non-blocking variant of this call exists.
            try check(
                unsafe mosquitto_connect_bind_v5(
                    handle, settings.host, Int32(settings.port), keepAlive, nil, properties))
        } else {
            try check(unsafe mosquitto_connect_async(handle, settings.host, Int32(settings.port), keepAlive))
        }
        let number = ErrorNumber.current
        // A program that a handler starts must not inherit the connection, or it would stay open after this process.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        try checkHandshake(number)
    }

    /// Subscribes to a topic filter; returns the id of the answer, which arrives later.
    func subscribe(_ filter: String, _ quality: MQTTSettings.Quality) throws(End) -> Int32 {
        let quality = Int32(quality.rawValue)
        var id: Int32 = 0
        if version == .v5 {
            // Retained messages are sent for a new subscription, not at each connection.
            let options = Int32(MQTT_SUB_OPT_SEND_RETAIN_NEW.rawValue)
            try check(unsafe mosquitto_subscribe_v5(handle, &id, filter, quality, options, nil))
        } else {
            try check(unsafe mosquitto_subscribe(handle, &id, filter, quality))
        }
        return id
    }

    /// Ends a subscription of the kept session; nobody waits for the answer.
    func unsubscribe(_ filter: String) throws(End) { try check(unsafe mosquitto_unsubscribe(handle, nil, filter)) }

    /// Queues a message of this device; returns the id of the packet that confirms it.
    func publish(_ message: MQTTSettings.Announcement, _ quality: MQTTSettings.Quality) throws(End) -> Int32 {
        var id: Int32 = 0
        try check(
            unsafe mosquitto_publish(
                handle, &id, message.topic, Int32(message.payload.count), message.payload, Int32(quality.rawValue),
                message.isRetained))
        return id
    }

    /// Queues an answer for its response topic, with MQTT 5; returns the id of the packet that confirms it.
    func publish(_ answer: UnsentAnswer, _ quality: MQTTSettings.Quality) throws(End) -> Int32 {
        guard let mqtt = answer.payload.mqtt, let topic = mqtt.responseTopic else {
            throw .lost("the command has no response topic")
        }
        guard version == .v5 else { throw .lost("only MQTT 5 has answers") }
        var properties: OpaquePointer?
        // Freed in any case; the library makes its own copy.
        defer { unsafe mosquitto_property_free_all(&properties) }
        try check(
            unsafe mosquitto_property_add_string(
                &properties, Int32(MQTT_PROP_CONTENT_TYPE.rawValue), "application/json"))
        if let correlation = mqtt.correlationData {
            try check(
                unsafe mosquitto_property_add_binary(
                    &properties, Int32(MQTT_PROP_CORRELATION_DATA.rawValue), correlation,
                    UInt16(clamping: correlation.count)
                ))
        }
        for (name, value) in [("status", answer.answer.status.rawValue), ("number", "\(answer.id)")] {
            try check(
                unsafe mosquitto_property_add_string_pair(
                    &properties, Int32(MQTT_PROP_USER_PROPERTY.rawValue), name, value))
        }
        let text = Array(answer.text.utf8)
        var id: Int32 = 0
        try check(
            unsafe mosquitto_publish_v5(
                handle, &id, topic, Int32(text.count), text, Int32(quality.rawValue), false, properties))
        return id
    }

    /// Queues the disconnect packet; the connection ends once it is written.
    func disconnect() { unsafe _ = mosquitto_disconnect(handle) }

    // MARK: The loop's steps

    /// The socket, to be polled; -1 if there is none any more.
    var descriptor: Int32 { unsafe mosquitto_socket(handle) }

    /// Whether ``write()`` has something to send.
    var wantsWrite: Bool {
        // libmosquitto's own answer stays true for as long as the broker is silent.
        if let session = unsafe handshake { return unsafe OpenSSL.wantsWrite(session) }
        return unsafe mosquitto_want_write(handle)
    }

    /// Reads one packet, or several of an encrypted connection; does not block.
    func read() throws(End) {
        let isHandshaking = unsafe handshake != nil
        try check(unsafe mosquitto_loop_read(handle, 1))
        if isHandshaking { try checkHandshake(.current) }
    }

    /// Sends the queue with the acknowledgements, as far as the socket accepts it.
    ///
    /// The library writes each packet by itself without delay: if there are several, `isTogether` makes the kernel
    /// collect them, and they leave in one segment.
    func write(isTogether: Bool = false) throws(End) {
        if let session = unsafe handshake {
            // Only reading continues the handshake.
            if unsafe OpenSSL.wantsWrite(session) { try read() }
            return
        }
        let link = descriptor
        if isTogether { Self.cork(link, true) }
        // Not if the connection has ended meanwhile: another file may have its number.
        defer { if isTogether, descriptor == link { Self.cork(link, false) } }
        try check(unsafe mosquitto_loop_write(handle, 1))
    }

    /// Makes the kernel collect segments that are not full, or send them; harmless where it cannot.
    private static func cork(_ link: Int32, _ isOn: Bool) {
        var value: Int32 = isOn ? 1 : 0
        _ = unsafe setsockopt(link, Int32(IPPROTO_TCP), TCP_CORK, &value, socklen_t(MemoryLayout.size(ofValue: value)))
    }

    /// Queues a ping when it is due, and ends the connection if the last one was not answered.
    func keepAlive() throws(End) { try check(unsafe mosquitto_loop_misc(handle)) }

    /// Sends a ping past the queue, which stays unsent; not while a queued packet may be partly sent.
    func pingPastQueue() throws(End) {
        let ping: [UInt8] = [0xC0, 0]
        let sent: Int
        // The library's own session, which only this thread uses; neither call keeps a reference.
        if let session = unsafe mosquitto_ssl_get(handle) {
            guard let write = unsafe OpenSSL.write else { throw .lost("OpenSSL has no SSL_write") }
            sent = unsafe Int(write(session, ping, Int32(ping.count)))
        } else {
            sent = unsafe send(descriptor, ping, ping.count, Int32(MSG_NOSIGNAL))
        }
        // A socket without space for two bytes has sent nothing for minutes.
        guard sent == ping.count else { throw .lost("the broker does not read what is sent", isByBroker: true) }
    }

    // MARK: The handshake

    /// The encrypted session, until it is established; nil without one.
    private var handshake: UnsafeMutableRawPointer? {
        guard let session = unsafe mosquitto_ssl_get(handle), unsafe OpenSSL.isHandshaking(session) else { return nil }
        return unsafe session
    }

    /// The settings of the encrypted session, also of one that has failed; nil if there was none.
    var encryption: OpenSSL.Context? {
        unsafe mosquitto_ssl_get(handle).flatMap { unsafe OpenSSL.Context(of: $0) } ?? arrivals.failedEncryption
    }

    /// Ends a handshake whose socket has failed: libmosquitto takes the failure for success, again and again.
    private func checkHandshake(_ number: ErrorNumber) throws(End) {
        guard unsafe handshake != nil, descriptor >= 0 else { return }
        var byte: UInt8 = 0
        let count = unsafe recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        let own = ErrorNumber.current
        guard count == 0 || count < 0 && own.rawValue != EAGAIN && own.rawValue != EINTR else { return }
        // The library's call has taken the socket's error, unless it came just now.
        let hasOwn = count < 0 && own.rawValue != ENOTCONN
        let reason = hasOwn ? own : number
        guard reason.rawValue != 0, reason.rawValue != EAGAIN else {
            throw .lost("the broker closed the link before it was encrypted", isByBroker: true)
        }
        throw .lost("\(reason)", isByBroker: reason.rawValue == ECONNRESET)
    }
}

extension MQTTSettings.Version {
    fileprivate var number: Int32 {
        switch self {
        case .v31: MQTT_PROTOCOL_V31
        case .v311: MQTT_PROTOCOL_V311
        case .v5: MQTT_PROTOCOL_V5
        }
    }
}
#endif
