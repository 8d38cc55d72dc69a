#if MQTT
import CLibrary
public import KiiPush
public import KiiPushDelivery
import KiiPushSystem
import Synchronization

/// Receives pushes from an MQTT broker, and acknowledges each only when it is safe.
///
/// ```swift
/// var settings = try MQTTSettings(address: "mqtts://device@broker.example/pushes/device")
/// settings.password = .file("mqtt-password")
/// settings.clientID = "device-17"
/// let service = PushService(receiver, [try MQTTTransport(settings)], inbox: inbox)
/// ```
///
/// With quality of service 1 and a persistent session, nothing that the broker keeps is lost: not if the process is
/// killed, the connection is cut or the disk is full. Messages may arrive twice. With a durable inbox they are
/// acknowledged as soon as they are on disk. In memory, all messages received until then are acknowledged together,
/// when the last one has ended; if one must be retried, the client reconnects and the broker redelivers all of them. So
/// while one message takes long, the broker sends no more than its window, which is 20 messages for mosquitto, and at
/// most 1,024 are read.
///
/// It has its own thread, which reads at most 64 messages, submits them together, and then acknowledges them. If the
/// inbox cannot store them, it reconnects, so that the broker redelivers them. If the inbox is full, it reads nothing,
/// with any quality of service, and keeps the connection alive: further messages wait in the broker's queue, as far as
/// that goes.
///
/// It reconnects after a lost connection, with pauses that grow until one has lasted for a while, and only when the
/// inbox has capacity. Possible losses are reported as `possibleGap`: a session that the broker discarded, a clean
/// session, quality of service 0.
///
/// libmosquitto makes the whole process ignore SIGPIPE.
public final class MQTTTransport: PushTransport {
    /// Its name in logs and metrics: `mqtt`.
    public let name: String

    /// Its settings.
    public let settings: MQTTSettings

    let random: @Sendable () -> Double
    private let filters: [MQTTTopicFilter]
    private let counter = Mutex(MQTTCounts())
    let outgoing = Outgoing()

    /// Makes a transport; it connects when it runs.
    ///
    /// - Parameters:
    ///   - settings: its settings.
    ///   - name: its name in logs and metrics, which must be unique in a service.
    ///   - random: numbers from 0 up to 1, for pauses that differ between devices.
    /// - Throws: ``MQTTSettingsError`` if the settings are invalid, such as MQTT 5 without TLS if a fault of the
    ///   library makes that a risk, see ``MQTTSettings/risksMQTT5``, or if one of their files is missing or invalid;
    ///   later that is a lost connection, since the file may be in the middle of its replacement.
    public init(
        _ settings: MQTTSettings, name: String = "mqtt",
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) throws(MQTTSettingsError) {
        try settings.check()
        if settings.version == .v5, !settings.usesTLS, !settings.risksMQTT5,
            MQTTAnswers.endsProcess(MosquittoClient.libraryNumber)
        {
            throw MQTTSettingsError(
                "MQTT 5 without TLS is refused: one packet from anybody on the network path could crash this process, "
                    + "because of a bug in libmosquitto \(MosquittoClient.libraryVersion); use mqtts, MQTT 3.1.1, or "
                    + "libmosquitto 2.1 or newer"
            )
        }
        _ = try LinkFiles(settings).read()
        self.settings = settings
        filters = settings.topicFilters
        (self.name, self.random) = (name, random)
    }

    /// It acknowledges, and unacknowledged messages are redelivered, if quality of service and session allow that.
    public var abilities: TransportAbilities {
        guard settings.isAcknowledged else { return [] }
        return settings.cleanSession ? .acknowledges : [.acknowledges, .redelivers]
    }

    /// Its counters so far.
    public internal(set) var counts: MQTTCounts {
        get { counter.withLock { $0 } }
        set { counter.withLock { $0 = newValue } }
    }

    /// Submits payloads until its task is cancelled, or the intake stops.
    ///
    /// - Parameter intake: accepts the payloads.
    /// - Throws: ``MQTTError`` if the client library does not work.
    public func run(_ intake: PushIntake) async throws {
        let control: Control
        do throws(ErrorNumber) { control = try Control() } catch { throw MQTTError.library("\(error)") }
        try await withTaskCancellationHandler {
            // Not a child task: the thread may be in the resolver for minutes after this task was cancelled.
            Task.detached { [self] in
                await withThread { [self] in
                    outgoing.wake(control.signal)
                    defer { outgoing.wake(nil) }
                    control.finish(MQTTSession(self, intake, control).serve())
                }
            }
            try await control.end()
        } onCancel: {
            control.stop()
        }
    }
}

extension MQTTTransport: AnswerSender {
    /// Whether the message has a response topic, and a topic to which this transport subscribes.
    ///
    /// A message does not say over which broker it came: of two transports with one topic, the first answers.
    public func takes(_ message: PushMessage) -> Bool {
        guard let mqtt = message.storage.mqtt, mqtt.responseTopic != nil else { return false }
        return filters.contains { $0.matches(mqtt.topic) }
    }

    /// Publishes an answer to the response topic with quality of service 1: the handler's data as JSON, with the
    /// correlation data of the command, and the user properties `status` and `number`.
    ///
    /// If the broker takes only quality of service 0, it returns when the answer is about to be sent. While there is no
    /// connection, it waits. If the process ends between the broker's confirmation and its record, the answer is
    /// published again, with the same number.
    ///
    /// - Throws: `AnswerRefused` if the broker refuses it for good, or if the connection is not one of MQTT 5; another
    ///   error if the broker's quota is used up.
    public func send(_ answer: UnsentAnswer) async throws { try await outgoing.send(answer) }
}
#else
/// Receives pushes from an MQTT broker; not available in this build.
@available(*, unavailable, message: "enable the trait MQTT of kii-push, and install Debian's libmosquitto-dev")
public enum MQTTTransport {}
#endif
