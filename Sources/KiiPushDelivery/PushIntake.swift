public import KiiPush

/// Where a transport hands its payloads over.
///
/// From a thread of its own, a transport takes what has arrived, calls ``submit(_:)`` with all of it, and acknowledges
/// it; where that throws ``IntakeRefusal/full`` it stops reading until ``whenRoom(_:)`` calls it. A transport that is a
/// task calls ``submitWaiting(_:)``.
public struct PushIntake: Sendable {
    package let service: any IntakeService
    let transport: String

    package init(service: any IntakeService, transport: String) {
        self.service = service
        self.transport = transport
    }

    /// Whether what is taken in survives a crash, so that it may be acknowledged at once.
    public var isDurable: Bool { service.isDurable }

    /// Takes payloads in, all or none, without waiting for room; on disk when it returns, where the intake is durable.
    ///
    /// - Parameter payloads: the payloads, in order; give few at once, at most 64, since all must find room.
    /// - Returns: a receipt for each, in the same order.
    /// - Throws: ``IntakeRefusal``; none was taken in then, and none may be acknowledged.
    public func submit(_ payloads: [RawPayload]) throws(IntakeRefusal) -> [Receipt] {
        try service.submit(payloads)
    }

    /// Takes a payload in, and waits for room before; one that had to is marked as `RawPayload.hasWaited`.
    ///
    /// An inbox that fails is tried again, with pauses from 100 ms to 10 s.
    ///
    /// - Throws: ``IntakeRefusal/stopping``, also when the waiting task is cancelled; a transport may let it out of its
    ///   `run`.
    public func submitWaiting(_ payload: RawPayload) async throws(IntakeRefusal) -> Receipt {
        var payload = payload
        var pause = Duration.milliseconds(100)
        while true {
            do throws(IntakeRefusal) {
                return try service.submit([payload])[0]
            } catch .full {
                payload.hasWaited = true
                await service.room()
            } catch .failed {
                await service.pause(pause)
                pause = min(pause * 2, .seconds(10))
            }
            if Task.isCancelled { throw .stopping }
        }
    }

    /// Calls `action` once, when there is room again or intake has stopped; at once where there is room.
    ///
    /// Room is where what was refused last would be taken, and where a quarter of all that the service takes is free.
    /// It is called by the task that made room: let it wake a thread, and no more. A later one takes the place of an
    /// earlier one of the same transport that was not called yet.
    public func whenRoom(_ action: @escaping @Sendable () -> Void) { service.whenRoom(transport, action) }

    /// Tells what the transport has to say of itself.
    public func report(_ event: TransportEvent) { service.report(event, transport) }
}

/// Why payloads were not taken in.
@nonexhaustive
public enum IntakeRefusal: Error {
    /// There is no room for them now.
    case full
    /// The service is stopping and takes no more.
    case stopping
    /// The inbox could not keep them, such as for a full disk; try again later.
    case failed(any Error)
}

/// What an intake needs of its service.
package protocol IntakeService: Sendable {
    var isDurable: Bool { get }
    func submit(_ payloads: [RawPayload]) throws(IntakeRefusal) -> [Receipt]
    func room() async
    /// Waits so long, or until the task is cancelled.
    func pause(_ length: Duration) async
    func whenRoom(_ transport: String, _ action: @escaping @Sendable () -> Void)
    func report(_ event: TransportEvent, _ transport: String)
}

/// An intake that hands on to another one, and does more when payloads are taken in: say in ``submit(_:)`` what.
package protocol IntakeLayer: IntakeService {
    /// Who takes the payloads in.
    var service: any IntakeService { get }
}

extension IntakeLayer {
    package var isDurable: Bool { service.isDurable }
    package func room() async { await service.room() }
    package func pause(_ length: Duration) async { await service.pause(length) }
    package func whenRoom(_ transport: String, _ action: @escaping @Sendable () -> Void) {
        service.whenRoom(transport, action)
    }
    package func report(_ event: TransportEvent, _ transport: String) { service.report(event, transport) }
}
