// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that nobody who uses the library builds it. From here:
//     swift run -c release kiipush-bench
// With `--static-swift-stdlib`, as an agent is shipped and as run.sh measures it, all of it is 5 to 7 per cent faster.
//
// run.sh measures it beside other programs, gate.sh holds allocations and instructions.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "kii-push-benchmarks",
    dependencies: [.package(name: "kii-push", path: "../..")],
    targets: [
        .target(name: "CAllocationCounter"),
        .executableTarget(
            name: "kiipush-bench",
            dependencies: [
                "CAllocationCounter", .product(name: "KiiPush", package: "kii-push"),
                .product(name: "KiiPushTesting", package: "kii-push"),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "kiipush-peer", dependencies: [.product(name: "KiiPush", package: "kii-push")], path: "Peers/kiipush",
            exclude: ["build.sh"], swiftSettings: settings),
        // Runs the programs of Peers in turn, and writes what came of it. No program that is measured has its Foundation.
        .executableTarget(name: "side-by-side", swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
