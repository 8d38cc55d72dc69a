import CLibrary
import KiiPush
package import KiiPushSystem

/// A running agent's identity and switched-off targets: the answer to `who` on its control socket.
///
/// `{"process":1234,"state":"/var/lib/kiipush","since":"2026-11-22T10:00:00Z","version":"0.1.0","killed":["lamp"]}`, on
/// one line. `killed` is null if the agent has no loop guard. For `who TARGET`, it adds `"instead"` if it has neither a
/// route with this name nor one that takes events of this bucket: what it has.
package struct AgentIdentity: Sendable, Equatable {
    package let process: Int32
    /// Its state directory, without symbolic links.
    package let state: String
    /// When it started, to the second.
    package let since: String
    /// What is off, as targets are typed; nil if nothing can be switched off.
    package var killed: [String]?
    /// Why it does not know the target of the question, with what there is; nil if it does, or without one.
    package var instead: String?

    /// Names this process as the agent of a directory.
    package init(directory: String, since: UTCDate = .now) {
        process = getpid()
        state = resolved(directory)
        self.since = since.wholeSeconds
    }

    package var json: String {
        JSONWriter.object { writer in
            writer.member("process", Int64(process))
            writer.member("state", state)
            writer.member("since", since)
            writer.member("version", Version.number)
            if let killed { writer.member("killed", killed) } else { writer.member("killed", nil as String?) }
            if let instead { writer.member("instead", instead) }
        }
    }

    /// Parses an agent's answer; nil if it is something else.
    package init?(json: String) {
        let limits = PayloadLimits(bytes: 1 << 20, members: .max)
        guard let root = DataValue(json: json, limits: limits),
            let process = root["process"]?.integer.flatMap({ Int32(exactly: $0) }), let state = root["state"]?.string,
            let since = root["since"]?.string
        else { return nil }
        (self.process, self.state, self.since) = (process, state, since)
        if case .array(let targets)? = root["killed"] { killed = targets.compactMap(\.string) }
        instead = root["instead"]?.string
    }
}
