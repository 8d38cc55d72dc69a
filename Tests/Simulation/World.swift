import KiiPush

/// What handlers cause.
struct Loop {
    /// How many messages each handled one causes; of alike devices, all of them do.
    var fanOut = 1.0
    /// The shortest and the longest round trip, and whether only these two happen.
    var trip = (1.0, 1.0)
    var isEither = false
    /// Which part of the devices each answer reaches, and how much later each further device hears of it.
    var part = 1.0
    var skew = 0.0
    /// Whether each answer is about something new.
    var isNew = false
    /// How many messages start it, and the pause between them.
    var starts = 1
    var gap = 0.0
    var places = 1000

    func delay(_ dice: inout Dice) -> Double {
        isEither ? (dice.chance(0.5) ? trip.0 : trip.1) : dice.between(trip.0, trip.1)
    }
}

/// Devices, what happens to them, and what their handlers cause.
struct World {
    /// A run ends when so many were handled or arrived: far beyond each bound, and too many for the memory.
    private static let (mostHandled, mostArrivals) = (15_000, 1_500_000)

    private let clock = SetClock()
    private let subject: Subject
    private let loop: Loop?
    private var dice: Dice
    private var agenda = Agenda()
    private(set) var devices: [Device]
    private var (arrivals, number, newKeys, isOver) = (0, 0, 0, false)
    /// The last payload, which all messages of one answer share.
    private var known: (key: Int, time: Double, message: PushMessage)?

    init(_ subject: Subject, _ dice: Dice, devices: Int = 1, loop: Loop? = nil) {
        (self.subject, self.loop) = (subject, loop)
        var dice = dice
        let (clock, routes) = (clock, dice.pick(1, 1, 2, 3))
        self.devices = (0..<devices).map { _ in Device(clock, subject, routes: routes, places: loop?.places ?? .max) }
        self.dice = dice
    }

    /// Runs what comes by itself, in order, and what it causes, until an end.
    mutating func run(_ plan: [Event], until end: Double = .infinity) throws {
        var index = 0
        while !isOver {
            let isPlanned = index < plan.count && plan[index].time <= agenda.nextTime
            guard isPlanned || agenda.nextTime < .infinity else { return }
            let event = isPlanned ? plan[index] : agenda.next()
            if isPlanned { index += 1 }
            if event.time > end { return }
            clock.set(event.time)
            try happen(event)
        }
    }

    private mutating func happen(_ event: Event) throws {
        let device = devices[event.device]
        guard event.count > 0 else { return after(event, device.askAgain(event.key, event.time)) }
        arrivals += event.count
        if arrivals > Self.mostArrivals { isOver = true }
        var event = event
        let message = try message(event.key, event.time)
        if subject == .command { event.key = number }
        after(event, device.arrive(message, event, lane: event.key))
    }

    private mutating func message(_ key: Int, _ time: Double) throws -> PushMessage {
        if let known, known.key == key, known.time == time, loop != nil { return known.message }
        number += 1
        let message = try PushMessage(subject.payload(key, number))
        known = (key, time, message)
        return message
    }

    private mutating func after(_ event: Event, _ answer: (again: Double?, handled: Int)) {
        if let again = answer.again {
            agenda.add(Event(time: again, device: event.device, key: event.key, count: 0))
        }
        if devices[event.device].result.handled.count > Self.mostHandled { isOver = true }
        guard let loop, answer.handled > 0 else { return }
        let count = dice.round(loop.fanOut * Double(answer.handled))
        if !loop.isNew, loop.trip.0 == loop.trip.1, loop.part == 1 {
            send(loop, event, loop.trip.0, event.key, count: count)
        } else {
            for _ in 0..<count {
                newKeys += 1
                send(loop, event, loop.delay(&dice), loop.isNew ? -newKeys : event.key, count: 1)
            }
        }
    }

    private mutating func send(_ loop: Loop, _ cause: Event, _ delay: Double, _ key: Int, count: Int) {
        guard count > 0 else { return }
        for device in devices.indices where loop.part == 1 || dice.chance(loop.part) {
            let time = cause.time + delay + loop.skew * Double(device)
            agenda.add(Event(time: time, device: device, key: key, count: count))
        }
    }
}
