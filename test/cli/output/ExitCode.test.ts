import { readFileSync } from "node:fs"
import { constants } from "node:os"
import { resolve } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { exitCodes, refused } from "../../../src/cli/output/ExitCode.ts"
import { laurelError } from "../../../src/domain/values/Errors.ts"

const operatorsGuide = readFileSync(
  resolve(import.meta.dirname, "../../../snapshots/README.md"),
  "utf8",
)

describe("Exit codes", () => {
  it("are the ones that the operator's guide lists", () => {
    const told = [...operatorsGuide.matchAll(/^\| ([\d, ]+) \|/gm)].flatMap(([, codes]) =>
      codes!.split(", ").map(Number),
    )
    const { signal, ...fixed } = exitCodes
    const { SIGABRT, SIGBUS, SIGINT, SIGSEGV, SIGTERM } = constants.signals
    const stops = [SIGINT, SIGTERM]
    // LMDB's native code, in a damaged database.
    const crashes = [SIGABRT, SIGBUS, SIGSEGV]
    const bySignal = [...stops, ...crashes].map((number) => signal + number)
    const sorted = (codes: ReadonlyArray<number>) => [...codes].sort((a, b) => a - b)
    expect(sorted(told)).toEqual(sorted([...Object.values(fixed), ...bySignal]))
  })

  it("distinguish a refusal from a failure of the server or its disk", () => {
    const codeOf = (code: Parameters<typeof laurelError>[0]) =>
      refused(laurelError(code, "Words.")).exitCode
    expect(codeOf("key_not_found")).toBe(1)
    expect(codeOf("quota_exceeded")).toBe(1)
    expect(codeOf("storage_unavailable")).toBe(74)
    expect(codeOf("shutting_down")).toBe(69)
    expect(codeOf("internal_error")).toBe(70)
  })
})
