import KiiPushAgent

/// `kiipush dead-letters`: lists, replays or drops dead letters.
enum DeadLettersCommand {
    static let command = StateCommand.command(
        Command(
            name: "dead-letters", summary: "shows, replays and drops dead letters",
            usage: ["COMMAND [OPTION…]"],
            about: [
                .text(
                    "Works with or without a running agent, except for replay, which calls the agent's handlers. "
                        + "NUMBER is one that 'list' shows; FILTER is --reason, --route or --transport.")
            ],
            exits: [
                (.fine, "done"),
                (.failed, "a message was not found or failed"),
                (.nobody, "replay needs an agent, and none is running"),
            ]),
        [
            (
                .list,
                Command(
                    name: "dead-letters list", summary: "lists dead letters", usage: ["[NUMBER…] [OPTION…]"],
                    exits: [(.fine, "listed"), (.failed, "no such number, or the store cannot be read")])
            ),
            (
                .show,
                Command(
                    name: "dead-letters show", summary: "shows dead letters with their payloads",
                    usage: ["NUMBER… [OPTION…]"],
                    exits: [(.fine, "shown"), (.failed, "no such number, or the store cannot be read")])
            ),
            (
                .replay,
                Command(
                    name: "dead-letters replay", summary: "handles dead letters again, in the agent",
                    usage: ["NUMBER…|FILTER…|--all [OPTION…]"],
                    notes: [
                        .text(
                            "Dead letters that are handled are removed; the others are kept. A dead letter that "
                                + "summarizes many messages has the payload of the newest one only: replaying it "
                                + "handles that one.")
                    ],
                    exits: [
                        (.fine, "all were handled"),
                        (.failed, "one was not handled, or none matched"),
                        (.nobody, "no agent is running"),
                    ])
            ),
            (
                .drop,
                Command(
                    name: "dead-letters drop", summary: "deletes dead letters permanently",
                    usage: ["NUMBER…|FILTER…|--all [OPTION…]"],
                    exits: [
                        (.fine, "dropped"),
                        (.failed, "one could not be dropped, or none matched"),
                    ])
            ),
        ])
}
