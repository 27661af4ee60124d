import { describe, expect, it } from "@effect/vitest"
import { SignalReader } from "../../../src/cli/process/Signals.ts"
import { limits } from "../../../src/Limits.ts"

describe("Signals", () => {
  it("ask for an orderly end first, and for the end at once when they come again", () => {
    const reader = new SignalReader()
    expect(reader.read("SIGTERM", 10)).toBe("first")
    expect(reader.read("SIGINT", 11)).toBe("again")
  })

  it("count once when npm sends the terminal's signal on", () => {
    const reader = new SignalReader()
    expect(reader.read("SIGINT", 10)).toBe("first")
    expect(reader.read("SIGINT", 11)).toBe("echo")
    expect(reader.read("SIGINT", 9 + limits.signalEchoMs)).toBe("echo")
    expect(reader.read("SIGINT", 10 + limits.signalEchoMs)).toBe("again")
  })
})
