#if MQTT
import CMosquitto
import CLibrary
import KiiPush

/// Messages and answers of a connection that are not processed yet.
///
/// libmosquitto's callbacks fill it while the loop's thread reads, and only that thread uses it.
final class MosquittoInbox {
    enum Answer {
        /// It has accepted the connection, or refused it; with the keep-alive that it demands, in seconds, if any, and
        /// the highest quality of service of messages that it takes.
        case connection(code: Int32, isSessionPresent: Bool, keepAlive: Int?, quality: MQTTSettings.Quality)
        case subscription(id: Int32, code: Int32)
        /// It has confirmed a message of this device, or refused it.
        case publication(id: Int32, code: Int32)
        case end(code: Int32)
    }

    private let filters: [MQTTTopicFilter]
    /// The prefix of libmosquitto's log lines about messages; the next character is the DUP flag.
    private let logPrefix: [CChar]

    /// The payloads that are not accepted yet, in order.
    private(set) var payloads: [RawPayload] = []
    /// Whether the broker redelivers each of them if it is not acknowledged.
    private var comesAgain: [Bool] = []
    private(set) var bytes = 0
    var answers: [Answer] = []
    /// How many messages and answers have arrived in all.
    private(set) var count = 0
    /// Whether a message to acknowledge has arrived since the last call.
    private var hasAcknowledgement = false
    /// The time, on the receiver's clock, at which messages arrive that are read now.
    var now: MonotonicInstant?
    /// Whether arriving messages may have waited at the broker.
    var areLate = false
    private var isNextRedelivered = false
    /// The first errors that libmosquitto has reported, until they are taken.
    var complaints: [String] = []
    /// The encryption of a connection that has failed: libmosquitto frees its session before the call returns.
    var failedEncryption: OpenSSL.Context?
    /// The last retained messages that were accepted; and those with the ones that are not accepted yet.
    private(set) var retained: RetainedMarks
    private var newRetained: RetainedMarks
    /// A hash of the last payload of each topic, and whether the topic may have a mark, by a hash of the topic; of at
    /// most ``RetainedMarks/most`` topics.
    private var last: [Int: (payload: Int, mayBeMarked: Bool)] = [:]
    private let settings: MQTTSettings
    private(set) var counts = MQTTCounts()
    var notices: [String] = []
    /// The sizes of messages that were larger than the limit.
    var tooLarge: [Int] = []

    init(_ settings: MQTTSettings, clientID: String, retained: RetainedMarks) {
        self.settings = settings
        (self.retained, newRetained) = (retained, retained)
        filters = settings.topicFilters
        logPrefix = Array("Client \(clientID) received PUBLISH (d".utf8CString.dropLast())
    }

    // MARK: For the loop

    func takeAcknowledgement() -> Bool {
        defer { hasAcknowledgement = false }
        return hasAcknowledgement
    }

    /// Removes the first payloads, which were accepted.
    func removeFirst(_ number: Int) {
        for payload in payloads.prefix(number) { bytes -= payload.size }
        counts.taken += number
        if number == payloads.count {
            payloads.removeAll(keepingCapacity: true)
            comesAgain.removeAll(keepingCapacity: true)
            retained = newRetained
        } else {
            payloads.removeFirst(number)
            comesAgain.removeFirst(number)
        }
    }

    /// Whether the broker redelivers all of the payloads if they are not acknowledged.
    var allComeAgain: Bool { comesAgain.allSatisfy(\.self) }

    /// Removes the payloads that the broker redelivers; the others are the only copies.
    func removeWhatComesAgain() {
        // Some of the last ones may not have been accepted.
        if !payloads.isEmpty { last = [:] }
        newRetained = retained
        let left = zip(payloads, comesAgain).filter { !$0.1 }.map(\.0)
        // The marks of before they came may no longer be true.
        for payload in left { forget(payload.mqtt?.topic ?? "") }
        payloads = left
        comesAgain = left.map { _ in false }
        bytes = left.reduce(0) { $0 + $1.size }
    }

    /// Has retained messages accepted again: while one in memory has not ended, its copy must not count as known.
    func forgetRetained() { (retained, newRetained, last) = (RetainedMarks(), RetainedMarks(), [:]) }

    // MARK: From the callbacks

    fileprivate func note(_ answer: Answer) {
        count += 1
        answers.append(answer)
    }

    fileprivate func note(_ message: UnsafePointer<mosquitto_message>, _ properties: OpaquePointer?) {
        let message = unsafe message.pointee
        count += 1
        let isRedelivered = isNextRedelivered
        isNextRedelivered = false
        if unsafe message.qos > 0 { hasAcknowledgement = true }
        // A C string, which libmosquitto keeps during the callback.
        let topic = unsafe message.topic.map { unsafe String(cString: $0) } ?? ""
        guard filters.contains(where: { $0.matches(topic) }) else {
            return ignore(\.otherTopic, "a message of a topic that is not subscribed")
        }
        let size = unsafe Int(message.payloadlen)
        guard size <= settings.payloadLimit else {
            forget(topic)
            counts.tooLarge += 1
            return tooLarge.append(size)
        }
        // The bytes are freed when the callback returns; an empty payload has no address.
        let copy = unsafe Array(
            UnsafeRawBufferPointer(start: message.payload, count: message.payload == nil ? 0 : size))
        // Whoever clears a retained message publishes an empty one, which says nothing else.
        if copy.isEmpty { return forget(topic) }
        let isRetained = unsafe message.retain
        let mqtt = unsafe publish(topic, isRetained: isRetained, properties)
        var content = copy
        // Each request has an answer of its own; a topic contains no zero.
        if let response = mqtt.responseTopic { content += [0] + response.utf8 + [0] + (mqtt.correlationData ?? []) }
        if isKnown(content, topic, isRetained: isRetained) { return retainWhatIsAccepted() }
        var payload = RawPayload(copy, transport: .mqtt, isRedelivered: isRedelivered, hasWaited: areLate)
        payload.arrivedAt = now
        payload.mqtt = mqtt
        payloads.append(payload)
        comesAgain.append(unsafe message.qos > 0 && !settings.cleanSession)
        bytes += payload.size
    }

    /// What the broker says of a message, within the bounds.
    private func publish(_ topic: String, isRetained: Bool, _ properties: OpaquePointer?) -> MQTTPublish {
        var publish = MQTTPublish(topic: topic)
        publish.isRetained = isRetained
        guard let properties = unsafe properties.map({ unsafe MosquittoProperties(list: $0) }) else { return publish }
        publish.expirySeconds = unsafe properties.number(
            MQTT_PROP_MESSAGE_EXPIRY_INTERVAL, mosquitto_property_read_int32)
        publish.responseTopic = properties.text(MQTT_PROP_RESPONSE_TOPIC)
        publish.correlationData = properties.bytes(MQTT_PROP_CORRELATION_DATA)
        publish.contentType = properties.text(MQTT_PROP_CONTENT_TYPE)
        publish.userProperties = properties.pairs(MQTT_PROP_USER_PROPERTY)
        guard publish.bytes > MQTTPublish.mostBytes else { return publish }
        // Somebody who waits for an answer needs these two most.
        ignore(\.cutProperties, "properties beyond \(MQTTPublish.mostBytes) bytes of a message")
        (publish.userProperties, publish.contentType) = ([], nil)
        if publish.bytes > MQTTPublish.mostBytes { (publish.responseTopic, publish.correlationData) = (nil, nil) }
        return publish
    }

    /// Whether a retained message was accepted before; remembers each message, as the last one of its topic.
    private func isKnown(_ content: [UInt8], _ topic: String, isRetained: Bool) -> Bool {
        let (place, hash) = (topic.hashValue, Self.hash(content))
        let before = last[place]
        if before == nil, last.count == RetainedMarks.most { last = [:] }
        guard isRetained else {
            // If the retained message that came before this one is published again, that is another change.
            let isMarked = (before?.mayBeMarked ?? true) && newRetained.dropOther(settings, topic, content)
            last[place] = (hash, isMarked)
            return false
        }
        last[place] = (hash, true)
        // Equal to the message before it: published while this device was connected, or queued in its session too.
        return !newRetained.keep(settings, topic, content) || before?.payload == hash
    }

    /// A hash of all bytes at once: that of an array takes one after another, which would be a microsecond a message.
    private static func hash(_ bytes: [UInt8]) -> Int {
        var hasher = Hasher()
        unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    /// Forgets what came of a topic, so that its next retained message is accepted.
    private func forget(_ topic: String) {
        newRetained.keep(settings, topic, nil)
        last[topic.hashValue] = nil
        retainWhatIsAccepted()
    }

    /// Remembers the retained messages at once, unless another message must be accepted before.
    private func retainWhatIsAccepted() { if payloads.isEmpty { retained = newRetained } }

    /// Counts an answer to a subscription that was not requested, or was already answered.
    func ignoreAnswer() { ignore(\.foreignAnswers, "an unexpected reply to a subscription") }

    private func ignore(_ counter: WritableKeyPath<MQTTCounts, Int>, _ what: String) {
        if counts[keyPath: counter] == 0 { notices.append(what) }
        counts[keyPath: counter] += 1
    }

    fileprivate func note(logLevel: Int32, _ line: UnsafePointer<CChar>, of handle: OpaquePointer?) {
        switch logLevel {
        case MOSQ_LOG_DEBUG:
            // Only this log line shows the flag, before the message's callback; if its text changes, no message is
            // marked as redelivered.
            unsafe logPrefix.withUnsafeBufferPointer { prefix in
                guard let start = prefix.baseAddress, unsafe strncmp(line, start, prefix.count) == 0 else { return }
                isNextRedelivered = unsafe line[prefix.count] == CChar(bitPattern: UInt8(ascii: "1"))
            }
        case MOSQ_LOG_ERR, MOSQ_LOG_WARNING:
            if complaints.count < 3 { complaints.append(unsafe String(cString: line)) }
            // A handshake that fails at once reports it while its session is still there.
            guard failedEncryption == nil, let session = unsafe mosquitto_ssl_get(handle) else { return }
            failedEncryption = unsafe OpenSSL.Context(of: session)
        default: break
        }
    }
}

extension Array {
    mutating func takeAll() -> [Element] {
        defer { self = [] }
        return self
    }
}

// MARK: - Callbacks

extension MosquittoInbox {
    /// Registers this object for libmosquitto's callbacks; it must outlive the handle.
    func listen(to handle: OpaquePointer) {
        unsafe mosquitto_log_callback_set(handle) { handle, context, level, line in
            guard let line = unsafe line else { return }
            unsafe MosquittoInbox.behind(context)?.note(logLevel: level, line, of: handle)
        }
        unsafe mosquitto_connect_v5_callback_set(handle) { _, context, code, flags, properties in
            let properties = unsafe properties.map { unsafe MosquittoProperties(list: $0) }
            unsafe MosquittoInbox.behind(context)?.note(
                .connection(
                    code: code, isSessionPresent: flags & 1 == 1,
                    keepAlive: properties?.number(MQTT_PROP_SERVER_KEEP_ALIVE, mosquitto_property_read_int16)
                        .map { Int($0) },
                    quality: properties?.number(MQTT_PROP_MAXIMUM_QOS, mosquitto_property_read_byte) == 0
                        ? .zero : .one))
        }
        unsafe mosquitto_subscribe_v5_callback_set(handle) { _, context, id, number, codes, _ in
            guard number > 0, let codes = unsafe codes else { return }
            unsafe MosquittoInbox.behind(context)?.note(.subscription(id: id, code: codes[0]))
        }
        unsafe mosquitto_publish_v5_callback_set(handle) { _, context, id, code, _ in
            unsafe MosquittoInbox.behind(context)?.note(.publication(id: id, code: code))
        }
        unsafe mosquitto_disconnect_v5_callback_set(handle) { _, context, code, _ in
            unsafe MosquittoInbox.behind(context)?.note(.end(code: code))
        }
        unsafe mosquitto_message_v5_callback_set(handle) { _, context, message, properties in
            guard let message = unsafe message else { return }
            unsafe MosquittoInbox.behind(context)?.note(message, properties)
        }
    }

    /// The pointer that libmosquitto passes to each callback.
    var context: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

    private static func behind(_ context: UnsafeMutableRawPointer?) -> MosquittoInbox? {
        // The owner of the handle owns the object too.
        unsafe context.map { unsafe Unmanaged<MosquittoInbox>.fromOpaque($0).takeUnretainedValue() }
    }
}
#endif
