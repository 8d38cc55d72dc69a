/// The progress of a message through the chain: how many middlewares must be called when it ends.
package enum ChainProgress: Sendable {
    /// The chain has not judged the message, or must judge it again.
    case unasked
    /// This many middlewares admitted the message; each is called with its outcome.
    case passed(Int)
}
