// The help texts of `kiipush kill` and `kiipush revive`.
extension KillCommand {
    static let killCommand = Command(
        name: "kill", summary: "switches off a route, a bucket or everything, for a time",
        usage: [
            "TARGET [--for DURATION] [--rules FILE] [--state DIR]", "--list [--state DIR]", "--reset [--state DIR]",
        ],
        about: [
            .text(
                "A TARGET is a route's or a rule's id, a bucket's URI such as kiicloud://users/U/buckets/settings, or "
                    + "'*' for everything. An id is not checked: in a program without a route of that name, it "
                    + "switches nothing off. While a target is off, its messages end as looped (killSwitch), and its "
                    + "held messages become dead letters. If a target is off already, the later of the two ends counts."
            )
        ],
        options: KillOptions.killTable.texts,
        notes: [
            .text(
                "The kills are stored in DIR/kill.json, which running programs watch: no restart is needed. "
                    + "The command asks the agent of DIR whether it obeys, and prints its process id. A program of "
                    + "your own that watches the file obeys within two seconds, but cannot be asked.")
        ],
        exits: [
            (.fine, "the agent obeys"),
            (
                .failed,
                "there is no DIR, the file cannot be read or written, or an agent is there and does not obey"
            ),
            (.nobody, "kept, but no agent runs in DIR, and the next one that starts there will obey"),
        ],
        examples: [
            "mkdir -p /tmp/state; kiipush kill settings --for 10m --state /tmp/state",
            "kiipush kill --list --state /tmp/state",
        ],
        action: { arguments, console in await kill(arguments, console) })

    static let reviveCommand = Command(
        name: "revive", summary: "switches on again what was killed", usage: ["TARGET [--state DIR]"],
        about: [.text("TARGET is what was killed, as 'kiipush kill --list' shows it.")],
        options: KillOptions.reviveTable.texts,
        exits: [
            (.fine, "the agent obeys, also when it was not off"),
            (
                .failed,
                "there is no DIR, the file cannot be read or written, or an agent is there and does not obey"
            ),
            (.nobody, "no agent runs in DIR"),
        ],
        action: { arguments, console in await revive(arguments, console) })
}
