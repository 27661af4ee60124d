import { describe, expect, it } from "vitest"
import { scanOf } from "./advisories.ts"

describe("A scan of the lock file", () => {
  it("is clean where the registry knows no advisory", () => {
    const report = { auditReportVersion: 2, vulnerabilities: {}, metadata: {} }
    expect(scanOf(JSON.stringify(report))).toEqual({ outcome: "clean", lines: [] })
  })

  it("names each advisory once, with its package", () => {
    const advisory = {
      title: "Runs forever",
      severity: "high",
      url: "https://advisories.example/1",
    }
    const report = {
      vulnerabilities: { parser: { via: [advisory] }, server: { via: ["parser"] } },
    }
    expect(scanOf(JSON.stringify(report))).toEqual({
      outcome: "vulnerable",
      lines: ["parser: Runs forever (high), https://advisories.example/1"],
    })
  })

  it("is skipped aloud where the registry does not answer, or npm prints no report", () => {
    for (const printed of [
      '{"message":"405 Method Not Allowed"}',
      '{"vulnerabilities":null}',
      "",
    ]) {
      const { lines, outcome } = scanOf(printed)
      expect([outcome, lines.length]).toEqual(["skipped", 1])
    }
    expect(scanOf('{"message":"405 Method Not Allowed"}').lines[0]).toContain("405")
  })
})
