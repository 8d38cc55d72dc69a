/// When a message came, and what its transport says of that.
struct Arrival {
    package enum Kind {
        case new
        /// It may have been sent long before: its transport was behind; see ``RawPayload/hasWaited``.
        case waited
        /// It came before; it says nothing of how much comes.
        case again
    }

    let time: Int64
    /// When it is judged.
    let now: Int64
    var kind = Kind.new
}

extension MessageStorage {
    /// What its transport says of its arrival.
    var arrivalKind: Arrival.Kind {
        received.isRedelivered ? .again : received.hasWaited ? .waited : .new
    }
}
