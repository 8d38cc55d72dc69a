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
    /// Whether each device drops what it has caused itself, because it knows its own identity.
    var dropsOwn = false
    /// How much later a device hears of an answer, at most, by chance.
    var jitter = 0.0
    /// By how many seconds the devices' clocks differ, at most.
    var clocks = 0.0
    /// Whether each answer is about something new; among so many things.
    var isNew = false
    var things = Int.max
    /// How many messages start it.
    var starts = 1
    var places = 1000
}

/// Devices, what happens to them, and what their handlers cause.
struct World {
    /// A run ends when a loop was handled so often, far beyond each bound, or when so many arrived, too many for the
    /// memory.
    private static let (mostHandled, mostArrivals) = (15_000, 1_500_000)

    private let clock = SetClock()
    private let subject: Subject
    private let loop: Loop?
    private var dice: Dice
    private var agenda = Agenda()
    private(set) var devices: [Device]
    private var (arrivals, newKeys, isOver) = (0, 0, false)

    init(_ subject: Subject, _ dice: Dice, devices: Int = 1, loop: Loop? = nil) {
        (self.subject, self.loop) = (subject, loop)
        var dice = dice
        let (clock, routes) = (clock, dice.pick(1, 1, 2, 3))
        // Keys pause at times of day.
        let midnight = dice.between(0, 86_400)
        self.devices = (0..<devices).map { _ in
            let clock = DeviceClock(clock, ahead: midnight + dice.between(0, loop?.clocks ?? 0))
            return Device(clock, subject, routes: routes, places: loop?.places ?? .max)
        }
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

    private mutating func happen(_ given: Event) throws {
        var event = given
        let (device, before) = (devices[event.device], devices[event.device].handled.count)
        let again: Double?
        if event.count > 0 {
            arrivals += event.count
            let message = try PushMessage(subject.payload(event.key, arrivals))
            if subject == .command { event.key = arrivals }
            again = device.arrive(message, event)
        } else {
            again = device.askAgain(event.key, event.time)
        }
        if let again { agenda.add(Event(time: again, device: event.device, key: event.key, count: 0)) }
        isOver = loop != nil && device.handled.count > Self.mostHandled || arrivals > Self.mostArrivals
        if let loop { answer(loop, event, dice.round(loop.fanOut * Double(device.handled.count - before))) }
    }

    private mutating func answer(_ loop: Loop, _ cause: Event, _ count: Int) {
        guard count > 0 else { return }
        let isOneTime = !loop.isNew && loop.trip.0 == loop.trip.1 && loop.part == 1 && loop.jitter == 0
        for _ in 0..<(isOneTime ? 1 : count) {
            newKeys += 1
            let (least, longest) = loop.trip
            let trip = loop.isEither ? dice.pick(least, longest) : dice.between(least, longest)
            let key = loop.isNew ? -newKeys % loop.things : cause.key
            for device in devices.indices where reaches(device, loop, cause) {
                let time = cause.time + trip + loop.skew * Double(device) + dice.between(0, loop.jitter)
                agenda.add(Event(time: time, device: device, key: key, count: isOneTime ? count : 1))
            }
        }
    }
    private mutating func reaches(_ device: Int, _ loop: Loop, _ cause: Event) -> Bool {
        if loop.dropsOwn, device == cause.device { return false }
        return loop.part == 1 || dice.chance(loop.part)
    }
}
