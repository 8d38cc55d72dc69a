#if MQTT
import CMosquitto
import Glibc
import KiiPush

/// What has come over a link and was not dealt with yet.
///
/// libmosquitto's callbacks fill it while the loop's thread reads, and only that thread has it.
final class MosquittoInbox {
    /// What a broker answered, beside messages.
    enum Answer {
        case connection(code: Int32, isSessionPresent: Bool)
        case subscription(id: Int32, code: Int32)
        case end(code: Int32)
    }

    private let topic: [CChar]
    private let limit: Int
    private let isSessionClean: Bool
    /// Whether the broker sends what it has retained at each subscription anew.
    private let repeatsRetained: Bool
    /// How a line of libmosquitto's log begins that is about a message; its next character is the DUP flag.
    private let logPrefix: [CChar]

    /// The payloads that were not taken in yet, in order.
    private(set) var payloads: [RawPayload] = []
    /// Whether the broker sends each of them again if it is not acknowledged.
    private var comesAgain: [Bool] = []
    private(set) var bytes = 0
    private(set) var answers: [Answer] = []
    /// How often something came, counted on.
    private(set) var count = 0
    /// Whether a message came, since it was last asked, that has to be acknowledged.
    private var hasAcknowledgement = false
    /// Whether what comes may have waited at the broker.
    var areLate = false
    private var isNextRedelivered = false
    /// What libmosquitto said was wrong, the first of it, since it was last asked.
    private var complaints: [String] = []
    private var retained: [UInt8]?
    private var newRetained: [UInt8]?
    private(set) var counts = MQTTCounts()
    private(set) var notices: [String] = []

    init(_ settings: MQTTSettings, clientID: String) {
        topic = Array(settings.topic.utf8CString)
        limit = settings.payloadLimit
        isSessionClean = settings.cleanSession
        repeatsRetained = settings.version != .v5
        logPrefix = Array("Client \(clientID) received PUBLISH (d".utf8CString.dropLast())
    }

    // MARK: What the loop asks

    func noteConnection() { counts.connections += 1 }

    /// The answers since the last time.
    func takeAnswers() -> [Answer] {
        defer { answers.removeAll(keepingCapacity: true) }
        return answers
    }

    /// What is to be told once, since the last time.
    func takeNotices() -> [String] {
        defer { notices.removeAll() }
        return notices
    }

    /// What libmosquitto said was wrong, the first of it, since the last time.
    func takeComplaints() -> [String] {
        defer { complaints = [] }
        return complaints
    }

    /// Whether a message came, since the last time, that has to be acknowledged.
    func takeAcknowledgement() -> Bool {
        defer { hasAcknowledgement = false }
        return hasAcknowledgement
    }

    /// Forgets the first payloads: they were taken in.
    func removeFirst(_ number: Int) {
        for payload in payloads.prefix(number) { bytes -= payload.bytes.count }
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

    /// Whether the broker sends all of the payloads again if they are not acknowledged.
    var allComeAgain: Bool { comesAgain.allSatisfy(\.self) }

    /// Forgets the payloads that the broker sends again; the others are all there is of them.
    func removeWhatComesAgain() {
        let left = zip(payloads, comesAgain).filter { !$0.1 }.map(\.0)
        payloads = left
        comesAgain = left.map { _ in false }
        bytes = left.reduce(0) { $0 + $1.bytes.count }
        newRetained = retained
    }

    // MARK: What the callbacks tell

    fileprivate func note(_ answer: Answer) {
        count += 1
        answers.append(answer)
    }

    fileprivate func note(_ message: UnsafePointer<mosquitto_message>) {
        let message = unsafe message.pointee
        count += 1
        let isRedelivered = isNextRedelivered
        isNextRedelivered = false
        if unsafe message.qos > 0 { hasAcknowledgement = true }
        // Both are C strings, libmosquitto's for as long as the callback lasts.
        let isPush = unsafe topic.withUnsafeBufferPointer { topic in
            guard let name = unsafe message.topic, let topic = topic.baseAddress else { return false }
            return unsafe strcmp(name, topic) == 0
        }
        guard isPush else { return ignore(\.otherTopic, "a message of a topic that brings no pushes") }
        let size = unsafe Int(message.payloadlen)
        guard size <= limit else {
            return ignore(\.tooLarge, "a message of \(size) bytes, where \(limit) is the most; it is lost")
        }
        // The bytes are freed when the callback returns; without any there is no address.
        let copy = unsafe Array(
            UnsafeRawBufferPointer(start: message.payload, count: message.payload == nil ? 0 : size))
        if repeatsRetained, unsafe message.retain {
            guard copy != retained else {
                return ignore(\.retainedAgain, "the retained message, which was taken in on the link before")
            }
            newRetained = copy
        }
        payloads.append(RawPayload(copy, transport: .mqtt, isRedelivered: isRedelivered, hasWaited: areLate))
        comesAgain.append(unsafe message.qos > 0 && !isSessionClean)
        bytes += size
    }

    /// Counts an answer to a subscription that was not asked for, or was answered already.
    func ignoreAnswer() { ignore(\.foreignAnswers, "an answer to a subscription that was not asked for") }

    private func ignore(_ counter: WritableKeyPath<MQTTCounts, Int>, _ what: String) {
        if counts[keyPath: counter] == 0 { notices.append(what) }
        counts[keyPath: counter] += 1
    }

    fileprivate func note(logLevel: Int32, _ line: UnsafePointer<CChar>) {
        switch logLevel {
        case MOSQ_LOG_DEBUG:
            // The one place where libmosquitto shows the flag, before it calls back with the message; should the text
            // change, nothing is called redelivered.
            unsafe logPrefix.withUnsafeBufferPointer { prefix in
                guard let start = prefix.baseAddress, unsafe strncmp(line, start, prefix.count) == 0 else { return }
                isNextRedelivered = unsafe line[prefix.count] == CChar(bitPattern: UInt8(ascii: "1"))
            }
        case MOSQ_LOG_ERR, MOSQ_LOG_WARNING:
            if complaints.count < 3 { complaints.append(unsafe String(cString: line)) }
        default: break
        }
    }
}

// MARK: - Callbacks

extension MosquittoInbox {
    /// Has libmosquitto call back with this object, which must live for longer than the handle.
    func listen(to handle: OpaquePointer) {
        unsafe mosquitto_log_callback_set(handle) { _, context, level, line in
            guard let line = unsafe line else { return }
            unsafe MosquittoInbox.behind(context)?.note(logLevel: level, line)
        }
        unsafe mosquitto_connect_v5_callback_set(handle) { _, context, code, flags, _ in
            unsafe MosquittoInbox.behind(context)?.note(.connection(code: code, isSessionPresent: flags & 1 == 1))
        }
        unsafe mosquitto_subscribe_v5_callback_set(handle) { _, context, id, number, codes, _ in
            guard number > 0, let codes = unsafe codes else { return }
            unsafe MosquittoInbox.behind(context)?.note(.subscription(id: id, code: codes[0]))
        }
        unsafe mosquitto_disconnect_v5_callback_set(handle) { _, context, code, _ in
            unsafe MosquittoInbox.behind(context)?.note(.end(code: code))
        }
        unsafe mosquitto_message_v5_callback_set(handle) { _, context, message, _ in
            guard let message = unsafe message else { return }
            unsafe MosquittoInbox.behind(context)?.note(message)
        }
    }

    /// What libmosquitto passes on to each callback.
    var context: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

    private static func behind(_ context: UnsafeMutableRawPointer?) -> MosquittoInbox? {
        // Whoever holds the handle holds the object too.
        unsafe context.map { unsafe Unmanaged<MosquittoInbox>.fromOpaque($0).takeUnretainedValue() }
    }
}
#endif
