@testable import KiiPush
@testable import KiiPushRules

/// Rules files that several suites use.
enum RulesSamples {
    /// The file that the documentation shows, with every key of the format in it.
    static let full = #"""
        {"version": 1,
         "app": "0123abcd",
         "me": ["user:U1", "thing:th.x"],
         "serving": ["app", "user:U1", "group:*", "thing:*"],
         "dedupe": {"window": "20m", "count": 1000, "weak": "1.5s"},
         "loop": {"hops": 4, "echo": "90s",
                  "writesAs": ["user:U2"]},
         "delivery": {"attempts": 3, "backoff": "100ms", "maxBackoff": "1m", "timeout": "1h", "order": "topic",
                      "onFailure": "skip"},
         "rules": [
          {"id": "settings",
           "when": {"kind": "pushToApp", "scope": "APP_AND_USER", "scopeID": "U1", "bucket": "settings", "object": "*",
                    "events": ["DATA_OBJECT_UPDATED"], "sender": "thing:*", "certainty": ["certain", "likely"],
                    "transport": "mqtt", "data": {"temp": {"greater": 30}, "mode": "eco"}},
           "then": {"handler": "reload"}, "continue": false, "writes": ["kiicloud://users/U1/buckets/state"],
           "pace": "2.5s", "delivery": {"attempts": 9}, "loop": {"ownBucket": "allow"}, "dedupe": {"by": "data.change.id"}},
          {"id": "log", "when": {"topic": "t*"}, "then": {"run": ["/usr/bin/logger", "-t", "kii push"]},
           "continue": true, "pace": "unlimited"},
          {"id": "rest", "when": {}, "then": {"print": true}}],
         "tests": [
          {"name": "a repeated update is dropped", "steps": [
            {"at": "0s", "payload": {"bucketID": "settings", "n": [1, {"a": "b"}]}, "transport": "mqtt",
             "fail": ["reload"], "expect": {"outcome": "handled", "rules": ["settings"], "handlers": ["reload"]}},
            {"at": "2s", "raw": "{\"n\":", "expect": {"outcome": "undecodable", "code": "unexpectedEnd",
             "reason": "unexpectedEnd", "layer": "identity", "kind": "directPush", "certainty": "likely"}},
            {"at": "2s", "write": "kiicloud://users/U1/buckets/state/objects/o"},
            {"at": "3s", "kill": "settings"},
            {"at": "3s", "revive": "*"}]}]}
        """#

    /// A file with one rule, whose `when` is given.
    static func when(_ conditions: String, id: String = "r") -> String {
        #"{"version":1,"rules":[{"id":"\#(id)","when":\#(conditions),"then":{"handler":"h"}}]}"#
    }

    /// What is wrong with a text, each as `line:column: what`.
    static func problems(_ text: String) -> [String] {
        do {
            _ = try RoutingRules(text, file: "r.json")
            return []
        } catch {
            return error.problems.map { "\($0.position): \($0.what)" }
        }
    }
}

extension RoutingRules {
    /// The criteria that a text for `when` stands for.
    static func criteria(_ conditions: String) throws -> RouteCriteria {
        try RoutingRules(RulesSamples.when(conditions)).rules[0].criteria
    }
}

extension RouteCriteria {
    /// Whether all but the certainty holds for a message.
    func takes(_ message: PushMessage) -> Bool {
        let buffer = message.storage.buffer
        return matchesContent(buffer.span, message.storage)
    }
}
