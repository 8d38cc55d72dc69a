/// A handler, by the view of a message that it accepts.
///
/// One case for each view instead of one closure around any handler: the closure would cost one more asynchronous frame
/// for each message, a generic one two more.
package enum RouteHandler: Sendable {
    package typealias Taking<View> = @Sendable (View, HandlerContext) async throws -> Void

    case any(Taking<PushMessage>)
    case pushToApp(Taking<PushToAppMessage>)
    case bucket(Taking<BucketEvent>)
    case object(Taking<ObjectEvent>)
    case pushToUser(Taking<PushToUserMessage>)
    case topic(Taking<TopicMessage>)
    case directPush(Taking<DirectPushMessage>)
    case gap(Taking<Gap>)
    case foreign(Taking<ForeignPushMessage>)
}

/// A route matched a message that its handler's view cannot represent: a bug in this SDK, reported instead of trapped.
struct UnprovenMatch: Error {
    let view: String
}
