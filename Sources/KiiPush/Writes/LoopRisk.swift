/// A write that a handler declared and that could start a loop.
public struct LoopRisk: Sendable, Hashable, CustomStringConvertible {
    /// How the write would come back.
    @nonexhaustive
    public enum Cause: String, Sendable, Hashable {
        /// It goes to the bucket that the handler was called for.
        case sameBucket
        /// It goes to another bucket that the same route matches.
        case sameRoute
    }

    /// The route whose handler declared it.
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

/// A write was refused because it could start a loop, as the route's ``RouteOptions`` say.
///
/// Let the handler throw it: the message then ends as `looped` (`ownBucket`), and is not retried.
public struct LoopRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// What was refused.
    public let risk: LoopRisk

    /// The refusal in words, with what to do.
    public var description: String { "\(risk); write to another bucket, or allow it by the route's ownBucket" }
}

/// An object that a handler fetched has passed through too many handlers: writing it again would continue a loop.
///
/// Let the handler throw it: the message then ends as `looped` (`lineage`), and is not retried.
public struct LineageTooLong: Error, Sendable, Hashable, CustomStringConvertible {
    /// How many handlers it has passed through.
    public let hops: Int
    /// The most that are allowed.
    public let limit: Int

    /// The lineage in words.
    public var description: String {
        "the object has passed \(counted(hops, "handler")); at most \(limit) may (LoopSettings.hops)"
    }
}
