// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that nobody who uses the library builds it. From here:
//     swift run -c release kiipush-simulation
let package = Package(
    name: "kii-push-simulation",
    dependencies: [.package(name: "kii-push", path: "../..")],
    targets: [
        .executableTarget(
            name: "kiipush-simulation",
            dependencies: [
                .product(name: "KiiPush", package: "kii-push"), .product(name: "KiiPushTesting", package: "kii-push"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
