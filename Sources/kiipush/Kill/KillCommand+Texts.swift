import KiiPushAgent

// The help texts of `kiipush kill` and `kiipush revive`.
extension KillCommand {
    static let killCommand = Command(
        name: "kill", summary: "switches off a route, a bucket or everything, for a time",
        usage: [
            "TARGET [--for DURATION] [--rules FILE] [--state DIR]", "--list [--state DIR]", "--reset [--state DIR]",
        ],
        about: [
            .text(
                "TARGET is the id of a route or a rule, a bucket's URI such as kiicloud://users/U/buckets/settings, or "
                    + "'*' for everything. A running agent says so if nothing in it matches the target; without one, "
                    + "ids are not checked. While a target is off, its messages end as looped (killSwitch), and "
                    + "messages that wait become dead letters when their turn comes. If a target is off already, the "
                    + "later end applies."
            )
        ],
        options: KillOptions.killTable.texts,
        notes: [
            .text(
                "Kills are stored in DIR/kill.json, which running programs watch: no restart is needed. The command "
                    + "waits for the agent of DIR to confirm the kill, and prints its process id. Other programs that "
                    + "watch the file apply the kill within two seconds, without confirmation.")
        ],
        exits: [
            (.fine, "the agent obeys"),
            (
                .failed,
                "DIR does not exist, the file cannot be read or written, nothing in the agent matches the target, or "
                    + "the agent did not confirm"
            ),
            (.nobody, "stored, but no agent answers in DIR"),
        ],
        examples: [
            "mkdir -p /tmp/state; kiipush kill settings --for 10m --state /tmp/state",
            "kiipush kill --list --state /tmp/state",
        ],
        action: { arguments, console in await kill(arguments, console) })

    static let reviveCommand = Command(
        name: "revive", summary: "switches a killed target on again", usage: ["TARGET [--state DIR]"],
        about: [.text("TARGET is a killed target, as 'kiipush kill --list' prints it.")],
        options: KillOptions.reviveTable.texts,
        exits: [
            (.fine, "the agent confirmed; also if the target was not off"),
            (
                .failed,
                "DIR does not exist, the file cannot be read or written, or the agent did not confirm"
            ),
            (.nobody, "no agent runs in DIR"),
        ],
        action: { arguments, console in await revive(arguments, console) })
}
