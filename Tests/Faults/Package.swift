// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that nobody who uses the library builds it. From here:
//     swift run -c release kiipush-faults
let package = Package(
    name: "kii-push-faults",
    dependencies: [.package(name: "kii-push", path: "../..", traits: ["SQLite", "MQTT"])],
    targets: [
        // For a look at the database that is not the library's own.
        .systemLibrary(name: "CSQLite3", providers: [.apt(["libsqlite3-dev"])]),
        .executableTarget(
            name: "kiipush-faults",
            dependencies: [
                "CSQLite3",
                .product(name: "KiiPush", package: "kii-push"),
                .product(name: "KiiCloud", package: "kii-push"),
                .product(name: "KiiPushTesting", package: "kii-push"),
                .product(name: "KiiPushAgent", package: "kii-push"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
