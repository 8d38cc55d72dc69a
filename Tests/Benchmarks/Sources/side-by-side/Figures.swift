import Foundation

/// A number as people read it: `1,650`, `92.4`, `0.36`.
func figure(_ value: Double, digits: Int? = nil) -> String {
    guard value.isFinite else { return "-" }
    let digits = digits ?? (abs(value) >= 100 ? 0 : abs(value) >= 10 ? 1 : 2)
    let text = String(format: "%.\(digits)f", value)
    let (whole, rest) = (text.prefix { $0 != "." }, text.drop { $0 != "." })
    var grouped = ""
    for (place, digit) in whole.enumerated() {
        if place > 0, (whole.count - place) % 3 == 0, digit != "-", whole.prefix(place) != "-" { grouped += "," }
        grouped.append(digit)
    }
    return grouped + rest
}

func figure(_ value: Int) -> String { figure(Double(value), digits: 0) }

/// How many times as much one is as the other: `0.36 ×`.
func ratio(_ value: Double, to other: Double) -> String { "\(figure(value / other)) ×" }

/// Bytes as people say them: `100 B`, `64 KiB`.
func size(_ bytes: Int) -> String { bytes < 1024 ? "\(bytes) B" : "\(bytes / 1024) KiB" }
