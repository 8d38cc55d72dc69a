// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "kii-push",
    products: [
        .library(name: "KiiPush", targets: ["KiiPush", "KiiPushRules", "KiiPushDelivery"]),
        .library(name: "KiiPushAgent", targets: ["KiiPushAgent", "KiiPushSystem", "KiiPushSQLite", "KiiPushMQTT"]),
        .library(name: "KiiPushTesting", targets: ["KiiPushTesting", "KiiPushContracts", "KiiCloudTesting"]),
        .library(name: "KiiCloud", targets: ["KiiCloud", "KiiCloudHTTP"]),
        .executable(name: "kiipush", targets: ["kiipush"]),
    ],
    traits: [
        .trait(name: "SQLite", description: "Stores that survive a restart, on Debian's libsqlite3-dev."),
        .trait(name: "MQTT", description: "A transport over a real MQTT client, on Debian's libmosquitto-dev."),
        .trait(name: "HTTP", description: "Calls of Kii's cloud over HTTPS, on Debian's libcurl4-openssl-dev."),
        .default(enabledTraits: []),
    ],
    targets: [
        .target(name: "CLibrary"),
        .systemLibrary(name: "CClock"),
        .target(name: "KiiPush", dependencies: ["CClock"]),
        .target(
            name: "KiiPushRules", dependencies: ["KiiPush", "KiiCloud"], resources: [.embedInCode("rules.schema.json")]),
        .target(name: "KiiPushDelivery", dependencies: ["KiiPush"]),
        .target(name: "KiiPushSystem", dependencies: ["CLibrary", "KiiPush", "KiiPushDelivery"]),
        .target(
            name: "KiiPushAgent",
            dependencies: [
                "CLibrary", "KiiPush", "KiiPushRules", "KiiPushDelivery", "KiiPushSystem", "KiiPushMQTT",
                "KiiPushSQLite",
            ]),
        .target(
            name: "KiiPushTesting",
            dependencies: ["KiiPush", "KiiPushDelivery", "KiiPushRules", "KiiPushSystem"]),
        .target(
            name: "KiiPushContracts", dependencies: ["KiiPush", "KiiPushDelivery", "KiiPushTesting"]),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .target(
            name: "KiiPushSQLite",
            dependencies: [
                "CLibrary", "KiiPush", "KiiPushDelivery", "KiiPushSystem",
                .target(name: "CSQLite", condition: .when(traits: ["SQLite"])),
            ]),
        .systemLibrary(name: "CMosquitto", providers: [.apt(["libmosquitto-dev"])]),
        .target(
            name: "KiiPushMQTT",
            dependencies: [
                "CLibrary", "KiiPush", "KiiPushDelivery", "KiiPushSystem",
                .target(name: "CMosquitto", condition: .when(traits: ["MQTT"])),
            ]),
        .executableTarget(
            name: "kiipush",
            dependencies: [
                "CLibrary", "KiiPush", "KiiCloud", "KiiCloudHTTP", "KiiPushRules", "KiiPushDelivery", "KiiPushAgent",
                "KiiPushSystem", "KiiPushTesting", "KiiPushMQTT", "KiiPushSQLite",
            ],
            resources: [
                .embedInCode("Report/Page/report.html"), .embedInCode("Report/Page/report.css"),
                .embedInCode("Report/Page/report.js"),
            ]),
        // What several targets of tests build upon: one of tests itself, so that no ordinary build compiles it.
        .testTarget(
            name: "KiiPushTestSupport",
            dependencies: ["KiiPush", "KiiPushRules", "KiiPushDelivery", "KiiPushSystem", "KiiPushTesting"]),
        .testTarget(
            name: "KiiPushTests",
            dependencies: [
                "KiiPush", "KiiCloud", "KiiPushRules", "KiiPushDelivery", "KiiPushAgent", "KiiPushTesting",
                "KiiPushContracts", "KiiPushTestSupport",
            ],
            exclude: ["Documentation/Rules"]),
        .testTarget(
            name: "KiiPushRulesTests",
            dependencies: ["KiiPush", "KiiCloud", "KiiPushRules", "KiiPushTesting", "KiiPushTestSupport"]),
        .testTarget(
            name: "KiiPushDeliveryTests",
            dependencies: [
                "KiiPush", "KiiPushRules", "KiiPushDelivery", "KiiPushTesting", "KiiPushContracts",
                "KiiPushTestSupport",
            ]),
        .testTarget(
            name: "KiiPushTestingTests",
            dependencies: ["KiiPush", "KiiPushDelivery", "KiiPushRules", "KiiPushTesting", "KiiPushTestSupport"]),
        .testTarget(
            name: "KiiPushContractsTests",
            dependencies: ["KiiPush", "KiiPushDelivery", "KiiPushContracts", "KiiPushTestSupport"]),
        .testTarget(
            name: "KiiPushSystemTests",
            dependencies: ["KiiPush", "KiiPushSystem", "KiiPushTesting", "KiiPushContracts", "KiiPushTestSupport"]),
        .testTarget(
            name: "KiiPushAgentTests",
            dependencies: [
                "KiiPush", "KiiPushRules", "KiiPushDelivery", "KiiPushAgent", "KiiPushSystem", "KiiPushTesting",
                "KiiPushContracts", "KiiPushTestSupport",
            ]),
        .testTarget(
            name: "KiiPushToolTests",
            dependencies: [
                "KiiPush", "KiiCloud", "KiiCloudTesting", "KiiPushRules", "KiiPushDelivery", "KiiPushAgent",
                "KiiPushSystem", "KiiPushTesting", "KiiPushMQTT", "KiiPushTestSupport", "kiipush",
            ]),
        .testTarget(
            name: "KiiPushSQLiteTests",
            dependencies: [
                "KiiPush", "KiiPushRules", "KiiPushDelivery", "KiiPushAgent", "KiiPushSystem", "KiiPushTesting",
                "KiiPushContracts", "KiiPushSQLite",
                .target(name: "CSQLite", condition: .when(traits: ["SQLite"])),
            ]),
        .target(name: "KiiCloud", dependencies: ["KiiPush"]),
        .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(
            name: "KiiCloudHTTP",
            dependencies: [
                "CLibrary", "KiiPush", "KiiCloud", .target(name: "CCurl", condition: .when(traits: ["HTTP"])),
            ]),
        .target(
            name: "KiiCloudTesting",
            dependencies: ["CLibrary", "KiiPush", "KiiCloud", "KiiPushAgent", "KiiPushSystem", "KiiPushTesting"]),
        .testTarget(
            name: "KiiCloudTests",
            dependencies: [
                "KiiPush", "KiiCloud", "KiiCloudTesting", "KiiPushRules", "KiiPushAgent", "KiiPushTesting",
            ]),
        .testTarget(
            name: "KiiCloudHTTPTests",
            dependencies: [
                "KiiPush", "KiiCloud", "KiiCloudHTTP", "KiiCloudTesting", "KiiPushAgent", "KiiPushSystem",
                "KiiPushTesting", "KiiPushTestSupport",
            ]),
        .testTarget(
            name: "KiiPushMQTTTests",
            dependencies: [
                "KiiPush", "KiiPushDelivery", "KiiPushContracts", "KiiPushAgent", "KiiPushMQTT",
                "KiiPushTestSupport", "kiipush",
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// One list for every target; each flag is what its Swift Evolution proposal says it is.
let settings: [SwiftSetting] = [
    .strictMemorySafety(),  // SE-0458
    .enableUpcomingFeature("ExistentialAny"),  // SE-0335
    .enableUpcomingFeature("InternalImportsByDefault"),  // SE-0409
    .enableUpcomingFeature("MemberImportVisibility"),  // SE-0444
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),  // SE-0461
]
for target in package.targets where target.type != .system {
    target.swiftSettings = (target.swiftSettings ?? []) + settings
}

// The only targets of tests that a build has: a step need not compile what it does not run.
if let names = Context.environment["KIIPUSH_TESTS"]?.split(separator: ",").map(String.init) {
    package.targets.removeAll { $0.type == .test && !names.contains($0.name) && $0.name != "KiiPushTestSupport" }
}
