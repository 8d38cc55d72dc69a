import KiiPush

extension SimulatedFleet {
    // MARK: From the cloud to the devices

    /// Sends new events to every device.
    func send() {
        for event in cloud.takeEvents() {
            let number = Int32(log.add(event))
            for device in devices.indices {
                let style = keys[device % keys.count]
                put(event: number, on: device, style)
                if random.happens(chaos.duplication) {
                    log.report.duplicated += 1
                    let isOther = random.next() & 1 == 0
                    put(event: number, on: device, isOther ? (style == .short ? .long : .short) : style)
                }
            }
        }
    }

    private func put(event: Int32, on device: Int, _ style: PayloadFixture.KeyStyle) {
        if random.happens(chaos.loss) {
            log.report.lost += 1
            return
        }
        let step = Step(kind: .deliver(event: event, attempt: 1, style: style), device: Int32(device))
        log.expect(event)
        queue.add(step, at: now + random.milliseconds(in: chaos.delay))
    }

    // MARK: At a device

    func deliver(_ step: Step, _ event: Int, _ attempt: UInt8, _ style: PayloadFixture.KeyStyle) async {
        let device = Int(step.device)
        var step = step
        step.firstArrival = min(step.firstArrival, now)
        var payload = log.payload(of: event, style)
        payload.isRedelivered = attempt > 1
        payload.arrivedAt = MonotonicInstant(nanoseconds: step.firstArrival * 1_000_000)
        log.reach(event, device, isAgain: step.isPaced)
        cloud.setCause(log.next(after: event))
        let outcome = await receivers[device].receive(payload)
        cloud.setCause(nil)
        log.leave(event)
        if case .paced(let until) = outcome {
            log.report.paced += 1
            log.expect(Int32(event))
            step.isPaced = true
            // Rounded up to the millisecond at which it is certainly due.
            queue.add(step, at: max(now, until.nanoseconds / 1_000_000 + 1))
        } else {
            note(outcome, step, event, attempt, style)
        }
        send()
        if random.happens(chaos.jumps) {
            log.report.jumps += 1
            clock.advance(by: .milliseconds(random.milliseconds(in: chaos.jump)))
        }
    }

    /// Counts the result of a delivery, and plans its redelivery if needed.
    private func note(
        _ outcome: Outcome, _ step: Step, _ event: Int, _ attempt: UInt8, _ style: PayloadFixture.KeyStyle
    ) {
        switch outcome {
        case .handled:
            log.handle(event, Int(step.device))
            report(step, event)
        case .looped, .deadLettered, .superseded: log.stop(event, Int(step.device))
        default: break
        }
        guard outcome.disposition == .retryLater else { return }
        guard attempt < mostAttempts else {
            log.report.givenUp += 1
            return
        }
        log.report.redelivered += 1
        log.expect(Int32(event))
        var again = step
        again.kind = .deliver(event: Int32(event), attempt: attempt + 1, style: style)
        queue.add(again, at: now + Self.redelivery.inMilliseconds)
    }

    private func report(_ step: Step, _ event: Int) {
        guard let onHandled else { return }
        let cause = log.cause(of: event)
        onHandled(
            Handling(
                device: Int(step.device), cause: cause.number, generation: cause.generation,
                arrivedAt: .milliseconds(step.firstArrival), delay: .milliseconds(now - step.firstArrival)))
    }
}
