// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that nobody who uses the library builds it. From here:
//     swift run -c release kiipush-bench
// With `--static-swift-stdlib`, as the tool is shipped, all of it is 5 to 7 per cent faster.
let package = Package(
    name: "kii-push-benchmarks",
    dependencies: [.package(name: "kii-push", path: "../..")],
    targets: [
        .target(name: "CAllocationCounter"),
        .executableTarget(
            name: "kiipush-bench",
            dependencies: ["CAllocationCounter", .product(name: "KiiPush", package: "kii-push")],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
