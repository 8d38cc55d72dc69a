/// What the chain knows of a message: how many of its stages must learn how the message ends.
package enum ChainProgress: Sendable {
    /// Nothing: it has not judged the message, or must judge it again.
    case unasked
    /// This many stages let the message pass; each of them must learn its outcome.
    case passed(Int)
    /// The message has this outcome already; what remains of it is for the routes that were held.
    case ended(Outcome)
}
