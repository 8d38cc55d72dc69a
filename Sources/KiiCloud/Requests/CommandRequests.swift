public import KiiPush

/// The result of one action of a Thing-IF command.
public struct ActionResult: Sendable, Hashable {
    /// The action.
    public let action: ThingCommand.Action
    /// Whether the action succeeded.
    public let isDone: Bool
    /// The reason of a failure, for people.
    public let errorMessage: String?

    /// An action that succeeded.
    public static func done(_ action: ThingCommand.Action) -> ActionResult {
        ActionResult(action: action, isDone: true, errorMessage: nil)
    }

    /// An action that failed.
    public static func failed(_ action: ThingCommand.Action, _ errorMessage: String) -> ActionResult {
        ActionResult(action: action, isDone: false, errorMessage: errorMessage)
    }
}

extension CloudRequest where Answer == Void {
    /// Reports the results of a command's actions, as the thing that received it.
    ///
    /// - Parameters:
    ///   - results: one for each action, in the command's order.
    ///   - command: the command.
    ///   - thing: the thing.
    /// - Returns: the request.
    public static func report(_ results: [ActionResult], of command: ThingCommand, as thing: KiiThing) -> Self {
        let body = JSONWriter.object { writer in
            writer.key("actionResults")
            writer.array { writer in
                for group in groups(results) { group.write(&writer) }
            }
        }
        let path = CloudPath(command: command.id, of: thing).appending("action-results")
        return Self(.put, path, headers: [.json], body: body) { try $0.expect(204, 200) }
    }

    /// The results in the command's dialect: adjacent results of one alias are grouped.
    private static func groups(_ results: [ActionResult]) -> [ResultGroup] {
        var groups: [ResultGroup] = []
        for result in results {
            if let alias = result.action.alias, groups.last?.alias == alias {
                groups[groups.count - 1].results.append(result)
            } else {
                groups.append(ResultGroup(alias: result.action.alias, results: [result]))
            }
        }
        return groups
    }
}

/// The results of one alias, or the result of an action without one.
private struct ResultGroup {
    let alias: String?
    var results: [ActionResult]

    func write(_ writer: inout JSONWriter) {
        guard let alias else { return results.forEach { Self.write($0, &writer) } }
        writer.object { writer in
            writer.key(alias)
            writer.array { writer in
                for result in results { Self.write(result, &writer) }
            }
        }
    }

    private static func write(_ result: ActionResult, _ writer: inout JSONWriter) {
        writer.object { writer in
            writer.member(result.action.name) { writer in
                writer.member("succeeded", result.isDone)
                if let message = result.errorMessage { writer.member("errorMessage", message) }
            }
        }
    }
}
