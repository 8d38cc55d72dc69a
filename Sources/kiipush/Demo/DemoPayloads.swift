import KiiPush

/// The demo's payloads: the shapes that Kii documents, over the transports that deliver them.
enum DemoPayloads {
    static let app = "0123abcd"
    static let ownThing = "th.53ae324be5a0-demo"

    struct Step {
        let title: String
        let payload: RawPayload
        /// The target that is switched off before the payload arrives.
        var kills: KillTarget?
    }

    /// A change of one object at some time, in milliseconds.
    static func counterChanged(at time: Int64) -> RawPayload {
        RawPayload(
            """
            {"aps":{"content-available":1},"bi":"counter","bt":"rw","oi":"visits","sa":"0123abcd","st":"APP",\
            "t":"DATA_OBJECT_UPDATED","w":\(1_403_844_866_395 + time)}
            """, transport: .apns)
    }

    static let steps: [Step] = [
        Step(
            title: " 1  An object was created in a user's bucket, over APNs",
            payload: RawPayload(
                """
                {"aps":{"content-available":1},"bi":"bucketName","bt":"rw","oi":"fedcba09-8765-4321-fedc-ba0987654321",\
                "sa":"0123abcd","st":"APP_AND_USER","su":"01234567-89ab-cdef-0123-456789abcdef",\
                "t":"DATA_OBJECT_CREATED","w":1403844866395}
                """, transport: .apns)),
        Step(
            title: " 2  The same event once more, this time over MQTT, as a device with two installations gets it",
            payload: RawPayload(
                """
                {"origin":"EVENT","bucketID":"bucketName","bucketType":"rw","type":"DATA_OBJECT_CREATED",\
                "when":1403844866395,"modifiedAt":1403844866362,"objectID":"fedcba09-8765-4321-fedc-ba0987654321",\
                "sender":"01234567-89ab-cdef-0123-456789abcdef","appID":"0123abcd","objectScopeAppID":"0123abcd",\
                "objectScopeType":"APP_AND_USER","objectScopeUserID":"01234567-89ab-cdef-0123-456789abcdef",\
                "sourceURI":"kiicloud://users/01234567-89ab-cdef-0123-456789abcdef/buckets/bucketName/objects/\
                fedcba09-8765-4321-fedc-ba0987654321"}
                """, transport: .mqtt)),
        Step(
            title: " 3  Someone sent a message to a group's topic, over MQTT",
            payload: RawPayload(
                """
                {"text":"lunch?","topic":"status","objectScopeType":"APP_AND_GROUP","objectScopeGroupID":"kitchen",\
                "objectScopeAppID":"0123abcd","sender":"727f20b00022-demo","when":1463363865798,\
                "sourceURI":"kiicloud://groups/kitchen/topics/status","senderURI":"kiicloud://users/727f20b00022-demo"}
                """, transport: .mqtt)),
        Step(
            title: " 4  The administrator sent a Direct Push, over MQTT",
            payload: RawPayload(
                """
                {"text":"maintenance at noon","sourceURI":"kiicloud://users/727f20b00022-demo",\
                "senderURI":"kiicloud://admins/APP_ADMIN"}
                """, transport: .mqtt)),
        Step(
            title: " 5  A message of which nothing says what it is: a Direct Push by absence, over FCM",
            payload: RawPayload(#"{"text":"hello","from":"761750217637"}"#, transport: .fcm)),
        Step(
            title: " 6  Thing-IF commands this thing, over MQTT: a Direct Push with a command in it",
            payload: RawPayload(
                """
                {"commandID":"03675d40-demo","issuer":"user:727f20b00022-demo",\
                "actions":[{"Lamp":[{"turnPower":true},{"setBrightness":25}]}]}
                """, transport: .mqtt)),
        Step(
            title: " 7  This device's own write to its bucket comes back to it: handling it would begin a loop",
            payload: RawPayload(
                """
                {"origin":"EVENT","bucketID":"state","bucketType":"rw","type":"DATA_OBJECT_UPDATED",\
                "when":1463364001908,"modifiedAt":1463364001875,"objectID":"current","sender":"th.53ae324be5a0-demo",\
                "appID":"0123abcd","objectScopeAppID":"0123abcd","objectScopeType":"APP_AND_THING",\
                "sourceURI":"kiicloud://things/th.53ae324be5a0-demo/buckets/state/objects/current"}
                """, transport: .mqtt)),
        Step(
            title: " 8  A message to a topic that imitates a Push to App: the URI and the keys disagree",
            payload: RawPayload(
                """
                {"topic":"status","bucketID":"settings","objectID":"lock","objectScopeType":"APP_AND_GROUP",\
                "objectScopeAppID":"0123abcd","objectScopeGroupID":"kitchen",\
                "sourceURI":"kiicloud://groups/kitchen/topics/status"}
                """, transport: .mqtt)),
        Step(
            title: " 9  A push of another app, for which this device was once installed",
            payload: RawPayload(
                """
                {"aps":{"alert":{"body":"short msg only!"}},"sa":"9a2385ce","st":"APP","to":"MyTopic",\
                "w":1373623307000}
                """,
                transport: .apns)),
        Step(
            title: "10  A payload that was cut on its way",
            payload: RawPayload(#"{"aps":{"content-available":1},"bi":"buck"#, transport: .apns)),
        Step(
            title: "11  A change that the handler's route would take, were it not switched off",
            payload: RawPayload(
                """
                {"aps":{"content-available":1},"bi":"bucketName","bt":"rw","oi":"fedcba09-8765-4321-fedc-ba0987654321",\
                "sa":"0123abcd","st":"APP_AND_USER","su":"01234567-89ab-cdef-0123-456789abcdef",\
                "t":"DATA_OBJECT_UPDATED","w":1403844869000}
                """, transport: .apns),
            kills: .route("objects")),
    ]
}
