/// A write that a handler announced and that could start a loop.
public struct LoopRisk: Sendable, Hashable, CustomStringConvertible {
    /// How the write would come back.
    public enum Cause: String, Sendable, Hashable {
        /// It goes to the bucket that the handler was called for.
        case sameBucket
        /// It goes to another bucket that the same route takes.
        case sameRoute
    }

    /// The route whose handler announced it.
    public let route: String
    /// What is to be written.
    public let target: KiiURI
    /// How the write would come back.
    public let cause: Cause
    /// The message that the handler was called with, as in traces.
    public let messageID: UInt64

    /// The risk in words.
    public var description: String {
        switch cause {
        case .sameBucket: "the handler of '\(route)' writes to the bucket that it was called for: \(target)"
        case .sameRoute: "the handler of '\(route)' writes to a bucket that its own route takes: \(target)"
        }
    }
}

/// A write was refused since it could start a loop, as the route's ``RouteLoopPolicy`` says.
///
/// Let it out of the handler: the message then ends as `looped` (`ownBucket`), and is not tried again.
public struct LoopRefusal: LoopEnd, Sendable, Hashable, CustomStringConvertible {
    /// What was refused.
    public let risk: LoopRisk

    /// The refusal in words, with what to do.
    public var description: String { "\(risk); write to another bucket, or allow it in the route's loop policy" }
}

/// What a handler fetched has come through too many handlers: to write it again would go on with a loop.
///
/// Let it out of the handler: the message then ends as `looped` (`lineage`), and is not tried again.
public struct LineageTooLong: LoopEnd, Sendable, Hashable, CustomStringConvertible {
    /// How many handlers it has come through.
    public let hops: Int
    /// How many it may.
    public let limit: Int

    /// The lineage in words.
    public var description: String { "it has come through \(counted(hops, "handler")), and may through \(limit)" }
}

/// An error of a handler that ends a loop, so that its message is not tried again.
protocol LoopEnd: Error {
    var layer: LoopLayer { get }
}

extension LoopRefusal {
    var layer: LoopLayer { .ownBucket }
}

extension LineageTooLong {
    var layer: LoopLayer { .lineage }
}
