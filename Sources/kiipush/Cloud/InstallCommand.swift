import KiiCloud
import KiiPush
import KiiPushAgent
import KiiPushSystem

struct InstallCommand: CommandWithOptions {
    private var format = ReportFormat.text
    private var account = ""
    private var endpoint = ""
    private var thing: String?
    private var installation: String?
    private var isDevelopment = false

    static let table = OptionTable<InstallCommand>([
        .account { $0.account = $1 },
        .value(
            "--endpoint", "FILE", "writes the endpoint and its password to FILE, for kiipush receive --endpoint",
            completes: .file
        ) { $0.endpoint = $1 },
        .value("--thing", "ID", "installs a device of this thing instead of the token's owner") { $0.thing = $1 },
        .flag("--development", "receives pushes sent to development instead of production") { $0.isDevelopment = true },
        .value(
            "--installation", "ID", "fetches the endpoint of an existing installation instead of creating one"
        ) { $0.installation = $1 },
        .format("text for people (the default), or json: one object on one line") { $0.format = $1 },
    ])

    func run(_ console: Console) async -> ExitCode {
        await CloudConnection.run("install", account: account, console) { client in
            try await install(client, console)
        }
    }

    func check(_ operands: [String]) throws(Arguments.Mistake) {
        try Arguments.none(operands)
        try CloudOption.check(account: account)
        guard !endpoint.isEmpty else {
            throw Arguments.Mistake(text: "--endpoint is missing: name the file that the endpoint goes to")
        }
        try OutputKind(name: "file of 'kiipush install'", start: #"{"host":"#).check("--endpoint", endpoint)
        guard installation == nil || thing == nil && !isDevelopment else {
            throw Arguments.Mistake(text: "--installation installs nothing; leave out --thing and --development")
        }
    }

    private func install(_ client: KiiClient, _ console: Console) async throws -> ExitCode {
        let id = try await known(client)
        // Before anything else can fail: a repeated call can name the installation, and does not install again.
        if format == .text { console.print("installation \(escaped(id))") }
        let ready: MQTTEndpoint?
        do { ready = try await client.mqttEndpoint(of: id) } catch {
            throw AgentError("\(error); ask for the endpoint again with --installation \(id)")
        }
        guard let endpoint = ready else {
            return console.fail(
                "kiipush install: the endpoint is not ready yet; ask again later with --installation \(escaped(id))")
        }
        do throws(ErrorNumber) { try replaceFile(self.endpoint, with: endpoint.json.revealed + "\n") } catch {
            throw AgentError(
                "\(escaped(self.endpoint)): cannot be written: \(error); add --installation \(escaped(id))")
        }
        switch format {
        case .text: console.print("endpoint in \(escaped(self.endpoint)); kiipush receive --endpoint reads it")
        case .json:
            let line = JSONWriter.object { writer in
                writer.member("installationID", id)
                writer.member("endpoint", self.endpoint)
            }
            console.print(line)
        }
        return .fine
    }

    private func known(_ client: KiiClient) async throws -> String {
        if let installation { return installation }
        let owner = thing.map { KiiThing(id: $0) }
        return try await client.perform(.install(isDevelopment: isDevelopment, of: owner)).id
    }

    static let description = Command(
        name: "install", summary: "installs this device for MQTT pushes and fetches its endpoint",
        usage: ["--endpoint FILE --account FILE [OPTION…]"],
        about: [
            "Kii creates an installation for the device and, within seconds, an MQTT endpoint with a password. "
                + "Only its owner can read the file."
        ],
        exits: [(.fine, "the endpoint was written"), (.failed, "a call failed, or the endpoint is not ready yet")],
        examples: [
            "kiipush install --account account.json --endpoint endpoint.json",
            "kiipush receive --endpoint endpoint.json --rules rules.json",
        ])
}
