/** `laurel limits` */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { unitOf } from "../../../src/cli/commands/limits.ts"
import { limits } from "../../../src/Limits.ts"
import { runCommand } from "../commands.ts"

describe("laurel limits", () => {
  it.live("prints a line with value and unit for every limit", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* runCommand(["limits"], "/nowhere")
      const [titles, , ...lines] = stdout.trimEnd().split("\n")
      expect([code, titles!.split(/ +/)]).toEqual([0, ["limit", "value", "unit"]])
      const printed = lines.map((line) => /^(\w+) +(\S+) {2}(\S.*)$/.exec(line)!.slice(1, 4))
      expect(printed).toEqual(
        Object.entries(limits).map(([name, value]) => [name, String(value), unitOf(name)]),
      )
      expect(printed).toContainEqual(["eventBytesMax", "65536", "bytes"])
    }),
  )

  it.live("with --json prints an array with name, value and unit of every limit", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* runCommand(["limits", "--json"], "/nowhere")
      expect(code).toBe(0)
      expect(JSON.parse(stdout)).toEqual(
        Object.entries(limits).map(([name, value]) => ({ name, value, unit: unitOf(name) })),
      )
    }),
  )
})

describe("The unit of a limit", () => {
  it.each([
    ["sessionIdleMs", "ms"],
    ["bucketBytesPerSecond", "bytes/s"],
    ["writeThreadYoungMebibytesMax", "MiB"],
    ["webhookBreakerOpenMsMax", "ms"],
    ["cooldownSecondsMax", "s"],
    ["auditFailuresPerHourMax", "per hour"],
    ["lockRefreshShare", "ratio"],
    ["limitTimesMax", "count"],
    ["boardMovesMax", "count"],
  ])("follows from its name: %s is in %s", (name, unit) => {
    expect(limits).toHaveProperty(name)
    expect(unitOf(name)).toBe(unit)
  })
})
