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

    func callAsFunction(_ message: PushMessage, _ context: HandlerContext) async throws {
        switch self {
        case .any(let handler): try await handler(message, context)
        case .pushToApp(let handler): try await handler(proven(PushToAppMessage(message)), context)
        case .bucket(let handler): try await handler(proven(BucketEvent(message)), context)
        case .object(let handler): try await handler(proven(ObjectEvent(message)), context)
        case .pushToUser(let handler): try await handler(proven(PushToUserMessage(message)), context)
        case .topic(let handler): try await handler(proven(TopicMessage(message)), context)
        case .directPush(let handler): try await handler(proven(DirectPushMessage(message)), context)
        case .gap(let handler): try await handler(proven(Gap(message)), context)
        case .foreign(let handler): try await handler(proven(ForeignPushMessage(message)), context)
        }
    }

    /// The view of a message, which the route's conditions guarantee.
    private func proven<View>(_ view: View?) throws -> View {
        guard let view else { throw UnprovenMatch(view: "\(View.self)") }
        return view
    }
}

/// A route matched a message that its handler's view cannot represent: a bug in this SDK, reported instead of trapped.
struct UnprovenMatch: Error {
    let view: String
}
