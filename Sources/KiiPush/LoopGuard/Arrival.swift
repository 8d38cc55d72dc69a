/// When a message arrived, and how its transport classifies the arrival.
struct Arrival {
    package enum Kind {
        case new
        /// It may have been sent long before, because its transport was behind; see ``RawPayload/hasWaited``.
        case waited
        /// A redelivery, which does not count as traffic.
        case again
    }

    let time: Int64
    /// When the message is judged.
    let now: Int64
    var kind = Kind.new
}

extension MessageStorage {
    /// The kind of its arrival, as its transport reports it.
    var arrivalKind: Arrival.Kind {
        received.isRedelivered ? .again : received.hasWaited ? .waited : .new
    }
}
