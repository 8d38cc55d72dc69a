#if MQTT
import Glibc
import KiiPush
public import KiiPushDelivery
import KiiPushLinux
import Synchronization

/// Brings pushes from an MQTT broker, and acknowledges each only when it is safe.
///
/// ```swift
/// var settings = try MQTTSettings(address: "mqtts://device@broker.example/pushes/device")
/// settings.password = .file("mqtt-password")
/// settings.clientID = "device-17"
/// let service = PushService(receiver, [try MQTTTransport(settings)], inbox: inbox)
/// ```
///
/// With quality of service 1 and a lasting session nothing is lost that the broker keeps: not when the process is
/// killed, the link is cut or the disk is full. Messages may come twice. A durable inbox has them acknowledged as soon
/// as they lie on disk; those in memory are when they have ended, see ``MQTTSettings/Acknowledgement``.
///
/// It has a thread of its own, which reads at most 64 messages, has them taken in together, and then acknowledges them.
/// When the inbox cannot keep them, the link is dropped and made again, so that the broker brings them again. When
/// there is no room, it reads nothing, with any quality of service, and keeps the link alive: what the link does not
/// hold waits at the broker, as far as its queue goes.
///
/// A lost link is made again, with pauses that grow until one has held for a while, and not before there is room. What
/// is lost all the same is told as `possibleGap`: a session that the broker forgot, a clean session, quality of service
/// 0, messages in memory that are acknowledged before they have ended.
///
/// libmosquitto has the whole process ignore SIGPIPE.
public final class MQTTTransport: PushTransport {
    /// Its name in logs and metrics: `mqtt`.
    public let name: String

    /// What it connects to.
    public let settings: MQTTSettings

    private let random: @Sendable () -> Double
    private let counter = Mutex(MQTTCounts())

    /// Makes a transport; it connects when it is run.
    ///
    /// - Parameters:
    ///   - settings: what to connect to.
    ///   - name: its name in logs and metrics; of two in one service each needs its own.
    ///   - random: numbers from 0 up to 1, for pauses that differ from device to device.
    /// - Throws: ``MQTTSettingsError`` when the settings are of no use, such as MQTT 5 without TLS where the library's
    ///   fault makes that a risk, see ``MQTTSettings/risksMQTT5``.
    public init(
        _ settings: MQTTSettings, name: String = "mqtt",
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) throws(MQTTSettingsError) {
        try settings.check()
        if settings.version == .v5, !settings.usesTLS, !settings.risksMQTT5,
            MQTTAnswers.endsProcess(MosquittoClient.libraryNumber)
        {
            throw MQTTSettingsError(
                "", nil,
                "MQTT 5 without TLS is refused: one packet of anybody on the way would end this process, by a fault of "
                    + "libmosquitto \(MosquittoClient.libraryVersion); use mqtts, MQTT 3.1.1, or libmosquitto 2.1 or "
                    + "newer"
            )
        }
        self.settings = settings
        self.name = name
        self.random = random
    }

    /// It acknowledges, and what it does not acknowledge comes again, where quality of service and session allow that.
    public var abilities: TransportAbilities {
        guard settings.quality == .one else { return [] }
        return settings.cleanSession ? .acknowledges : [.acknowledges, .redelivers]
    }

    /// What it has seen so far.
    public var counts: MQTTCounts { counter.withLock { $0 } }

    /// Hands payloads over until its task is cancelled, or the intake stops.
    ///
    /// - Parameter intake: takes the payloads.
    /// - Throws: ``MQTTError`` when trying again is of no use, such as for a CA file that is not there.
    public func run(_ intake: PushIntake) async throws {
        let control: Control
        do throws(ErrorNumber) { control = try Control() } catch { throw MQTTError.library("\(error)") }
        try await withTaskCancellationHandler {
            // What is of no use now is an error of the settings; later it may be between two versions of a file.
            let files = LinkFiles(settings)
            _ = try files.read()
            let start = MQTTSession.Start(settings: settings, files: files, random: random)
            // Not a child task: the thread may be in the resolver for minutes after this task was cancelled.
            Task.detached { [self] in
                await withThread {
                    blockSignals()
                    let serving = MQTTSession(start, intake, control) { counts in self.counter.withLock { $0 = counts }
                    }
                    control.finish(serving.serve())
                }
            }
            try await control.end()
        } onCancel: {
            control.stop()
        }
    }
}

/// Leaves signals to the other threads: the program has its own ways for them.
private func blockSignals() {
    var all = sigset_t()
    // Both calls read or fill in `all`, and keep nothing.
    unsafe sigfillset(&all)
    unsafe _ = pthread_sigmask(SIG_BLOCK, &all, nil)
}
#endif
