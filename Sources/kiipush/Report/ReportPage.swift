import KiiPush

/// The page of a report: one self-contained HTML file, which executes nothing from a payload.
///
/// Its policy allows only the tool's own script and style, by their digests; payloads are embedded as data only, and
/// the script shows them as text.
struct ReportPage {
    let report: Report

    static let start = "<!DOCTYPE html><!-- kiipush report -->"

    static let script = String(decoding: PackageResources.report_js, as: UTF8.self)
    static let style = String(decoding: PackageResources.report_css, as: UTF8.self)
    private static let frame = String(decoding: PackageResources.report_html, as: UTF8.self)

    /// The SHA-256 of ``script`` and of ``style`` in Base64; the tests have `sha256sum` compute them.
    static let scriptDigest = "P/WB8A2o/gmTE8v6RbpsIqnlmHLNUJWCRQCgQurGncY="
    static let styleDigest = "2LhO9IpDB6Zh2QCGIXPYohky5+gTsAYlsDiPETOhRuY="

    var text: String {
        let parts = [
            "{{policy}}": Self.policy, "{{style}}": Self.style, "{{script}}": Self.script,
            "{{data}}": ReportJSON(report).text,
        ]
        var text = ""
        // Each part is inserted once, and not searched again: a payload cannot contain a place for another part.
        for line in Self.frame.split(separator: "\n", omittingEmptySubsequences: false) {
            let line = String(line)
            if let (place, part) = parts.first(where: { line.utf8.count < 120 && line.contains(exactly: $0.key) }),
                let start = line.firstIndex(ofText: place)
            {
                text += "\(line[..<start])\(part)\(line[start...].dropFirst(place.count))\n"
            } else {
                text += line + "\n"
            }
        }
        return text
    }

    private static let policy =
        "default-src 'none'; script-src 'sha256-\(scriptDigest)'; style-src 'sha256-\(styleDigest)'; base-uri 'none'; "
        + "form-action 'none'"
}
