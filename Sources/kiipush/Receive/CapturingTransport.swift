import KiiPush
import KiiPushDelivery
import KiiPushLinux

/// A transport whose payloads are taken down in a capture file when they have been taken in, once each.
///
/// What an earlier process left in the inbox was taken down by that one.
struct CapturingTransport: PushTransport {
    let transport: any PushTransport
    let file: CaptureFile
    let log: AgentLog

    var name: String { transport.name }
    var abilities: TransportAbilities { transport.abilities }

    func run(_ intake: PushIntake) async throws {
        let capturing = CapturingIntake(service: intake.service, file: file, log: log)
        try await transport.run(PushIntake(service: capturing, transport: name))
    }
}

private struct CapturingIntake: IntakeLayer {
    let service: any IntakeService
    let file: CaptureFile
    let log: AgentLog

    func submit(_ payloads: [RawPayload]) throws(IntakeRefusal) -> [Receipt] {
        let receipts = try service.submit(payloads)
        for payload in payloads { file.add(payload) { log.trouble("\($0)") } }
        return receipts
    }
}
