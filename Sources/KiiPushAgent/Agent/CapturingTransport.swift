import KiiPush
import KiiPushDelivery

/// Wraps a transport and records its accepted payloads in a capture file, once each.
///
/// An earlier process has already recorded the payloads that it left in the inbox.
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
