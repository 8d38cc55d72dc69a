import KiiPush
import KiiPushRules
import KiiPushAgent

struct ReceiveCommand {
    static func run(_ arguments: [String], _ console: Console) async -> ExitCode {
        let options: ReceiveOptions
        do {
            guard let read = try ReceiveOptions.read(arguments) else {
                console.print(command.help)
                return .fine
            }
            options = read
        } catch let error as Arguments.Mistake {
            return command.refuse(error, console)
        } catch let error as EndpointProblems {
            for line in error.lines { console.error(line) }
            return .failed
        } catch { return console.fail("kiipush receive: \(error)") }
        return await run(options, console)
    }

    private static func run(_ options: ReceiveOptions, _ given: Console) async -> ExitCode {
        let (name, isQuiet) = ("kiipush receive", options.settings.isQuiet)
        let host =
            given.isStandard
            ? AgentHost(name: name, isQuiet: isQuiet)
            : AgentHost(name: name, isQuiet: isQuiet) { line in
                given.error(line)
                return true
            }
        defer { host.finish() }
        guard host.start() else { return .failed }
        let console = Console(print: given.print, error: { host.log.line($0) })
        guard let rules = RulesFile.load(options.rules, options.params, console, isWatched: true) else {
            return .failed
        }
        if let exposure = options.params.exposure(of: rules) {
            host.fail("\(exposure)")
            return .failed
        }
        if host.stop.isMade {
            host.log.note("stopped before any message was accepted")
            return .fine
        }
        let cloud: AgentCloud
        do { cloud = try AgentCloud(options, rules) } catch {
            host.fail(escaped("\(error)"))
            return .failed
        }
        let code = await run(options, rules, cloud, host)
        await cloud.close()
        return code
    }

    private static func run(
        _ options: ReceiveOptions, _ rules: RoutingRules, _ cloud: AgentCloud, _ host: AgentHost
    ) async -> ExitCode {
        var settings = options.settings
        (settings.cloud, settings.cloudAdvice) = (cloud.calls, AgentCloud.advice)
        settings.stateAdvice = "use --state DIR"
        settings.answers = cloud.answers
        do {
            let place = options.state.map { StatePlace.directory($0) } ?? .memory
            let agent = try PushAgent(host, rules, app: options.app, place, settings)
            agent.rules = .file(options.rules, params: rules.given)
            return await agent.serve([options.transportOfSource])
        } catch {
            host.fail("\(error)")
            return .failed
        }
    }
}
