import KiiPush

extension SimulatedFleet {
    // MARK: From the cloud to the devices

    /// Sends new events to every device.
    func send() {
        for planned in cloud.takePlanned() {
            lastPlan += 1
            plans[lastPlan] = planned
            queue.add(Step(kind: .write(lastPlan), device: -1), at: now + planned.delay.inMilliseconds)
        }
        for event in cloud.takeEvents() {
            let number = Int32(log.add(event))
            for device in devices.indices {
                let style = keys[device % keys.count]
                put(event: number, on: device, style)
                if random.happens(chaos.duplication) {
                    log.duplicated += 1
                    let isOther = random.next() & 1 == 0
                    put(event: number, on: device, isOther ? (style == .short ? .long : .short) : style)
                }
            }
        }
    }

    private func put(event: Int32, on device: Int, _ style: PayloadFixture.KeyStyle) {
        if random.happens(chaos.loss) {
            log.lost += 1
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
        log.reach(event, device)
        cloud.setCause(log.next(after: event))
        let outcome = await receivers[device].receive(payload)
        cloud.setCause(nil)
        log.leave(event)
        if case .held(let held) = outcome {
            heldSteps[HeldKey(device: step.device, id: held.id)] = step
            log.held += 1
        } else {
            note(outcome, step, event, attempt, style)
        }
        send()
        planLook(device)
        if random.happens(chaos.jumps) {
            log.jumps += 1
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
        case .looped, .deadLettered: log.stop(event, Int(step.device))
        default: break
        }
        guard outcome.disposition == .retryLater else { return }
        guard attempt < mostAttempts else {
            log.givenUp += 1
            return
        }
        log.redelivered += 1
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

    // MARK: Held messages

    /// Makes a device process its held messages when they are due, as ``KiiPush/PushReceiver/run()`` does.
    func planLook(_ device: Int) {
        guard let due = receivers[device].loopGuard?.nextDue else { return }
        // Rounded up to the millisecond at which it is certainly due.
        let time = max(now, due.nanoseconds < 0 ? 0 : due.nanoseconds / 1_000_000 + 1)
        guard time < nextLook[device] else { return }
        nextLook[device] = time
        queue.add(Step(kind: .look, device: Int32(device)), at: time)
    }

    func look(_ device: Int) async {
        // A later time was planned before this one, and is void.
        guard nextLook[device] <= now else { return }
        nextLook[device] = .max
        while let ended = await receivers[device].handleNextDue({ setCause(of: $0, on: device) }) {
            cloud.setCause(nil)
            let key = HeldKey(device: Int32(device), id: ended.message.id)
            // Without an outcome, another breaker holds it now.
            guard let outcome = ended.outcome, let step = heldSteps.removeValue(forKey: key) else { continue }
            guard case .deliver(let event, let attempt, let style) = step.kind else { continue }
            if case .handled = outcome { log.release(after: ended.message.arrivedAt.duration(to: clock.now)) }
            note(outcome, step, Int(event), attempt, style)
            send()
        }
        planLook(device)
    }

    private func setCause(of held: HeldMessage, on device: Int) {
        guard let step = heldSteps[HeldKey(device: Int32(device), id: held.id)],
            case .deliver(let event, _, _) = step.kind
        else { return }
        cloud.setCause(log.next(after: Int(event)))
    }
}
