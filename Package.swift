// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "kii-push",
    products: [
        .library(name: "KiiPush", targets: ["KiiPush"]),
        .library(name: "KiiPushLinux", targets: ["KiiPushLinux"]),
        .library(name: "KiiPushTesting", targets: ["KiiPushTesting"]),
        .library(name: "KiiPushContracts", targets: ["KiiPushContracts"]),
        .library(name: "KiiPushSQLite", targets: ["KiiPushSQLite"]),
        .library(name: "KiiPushMQTT", targets: ["KiiPushMQTT"]),
        .library(name: "KiiCloud", targets: ["KiiCloud"]),
        .executable(name: "kiipush", targets: ["kiipush"]),
    ],
    traits: [
        .trait(name: "SQLite", description: "Stores that survive a restart, on Debian's libsqlite3-dev."),
        .trait(name: "MQTT", description: "A transport over a real MQTT client, on Debian's libmosquitto-dev."),
        .default(enabledTraits: []),
    ],
    targets: [
        .target(name: "KiiPush", resources: [.embedInCode("Routing/Rules/rules.schema.json")]),
        .target(name: "KiiPushLinux", dependencies: ["KiiPush"]),
        .target(name: "KiiPushTesting", dependencies: ["KiiPush", "KiiPushLinux"]),
        .target(name: "KiiPushContracts", dependencies: ["KiiPush", "KiiPushTesting"]),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .target(
            name: "KiiPushSQLite",
            dependencies: ["KiiPush", "KiiPushLinux", .target(name: "CSQLite", condition: .when(traits: ["SQLite"]))]),
        .systemLibrary(name: "CMosquitto", providers: [.apt(["libmosquitto-dev"])]),
        .target(
            name: "KiiPushMQTT",
            dependencies: [
                "KiiPush", "KiiPushLinux", .target(name: "CMosquitto", condition: .when(traits: ["MQTT"])),
            ]),
        .executableTarget(
            name: "kiipush",
            dependencies: ["KiiPush", "KiiPushLinux", "KiiPushTesting", "KiiPushMQTT", "KiiPushSQLite", "KiiCloud"]),
        .testTarget(
            name: "KiiPushTests", dependencies: ["KiiPush", "KiiPushTesting", "KiiPushContracts"],
            exclude: ["Documentation/Rules"]),
        .testTarget(
            name: "KiiPushLinuxTests", dependencies: ["KiiPush", "KiiPushLinux", "KiiPushTesting", "KiiPushContracts"]),
        .testTarget(
            name: "KiiPushToolTests",
            dependencies: ["KiiPush", "KiiPushLinux", "KiiPushTesting", "KiiPushMQTT", "kiipush"]),
        .testTarget(
            name: "KiiPushSQLiteTests",
            dependencies: [
                "KiiPush", "KiiPushLinux", "KiiPushTesting", "KiiPushContracts", "KiiPushSQLite",
                .target(name: "CSQLite", condition: .when(traits: ["SQLite"])),
            ]),
        .target(name: "KiiCloud", dependencies: ["KiiPush"]),
        .testTarget(name: "KiiCloudTests", dependencies: ["KiiPush", "KiiCloud"]),
        .testTarget(
            name: "KiiPushMQTTTests",
            dependencies: ["KiiPush", "KiiPushContracts", "KiiPushLinux", "KiiPushMQTT", "kiipush"]),
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
