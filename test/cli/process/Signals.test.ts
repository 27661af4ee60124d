import { describe, expect, it } from "@effect/vitest"
import { SignalReader } from "../../../src/cli/process/Signals.ts"
import { limits } from "../../../src/Limits.ts"

describe("Signals", () => {
  it("ask for an orderly shutdown first, and end the process at once the second time", () => {
    const reader = new SignalReader()
    expect(reader.read("SIGTERM", 10)).toBe("first")
    expect(reader.read("SIGINT", 11)).toBe("again")
  })

  it("count once if npm repeats the terminal's signal", () => {
    const reader = new SignalReader()
    expect(reader.read("SIGINT", 10)).toBe("first")
    expect(reader.read("SIGINT", 11)).toBe("echo")
    expect(reader.read("SIGINT", 9 + limits.signalEchoMs)).toBe("echo")
    expect(reader.read("SIGINT", 10 + limits.signalEchoMs)).toBe("again")
  })
})
