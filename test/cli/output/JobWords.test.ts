import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { diskFailure, jobFailure, withProgressBar } from "../../../src/cli/output/JobWords.ts"
import { ProgressBar } from "../../../src/cli/output/ProgressBar.ts"
import { amountOf, bytesText } from "../../../src/cli/output/Table.ts"
import { JobFailed } from "../../../src/engine/archive/jobs/Jobs.ts"
import { DiskError } from "../../../src/storage/disk/Disk.ts"

/** A terminal that remembers what is written to it. */
const terminal = (isTTY: boolean) => {
  const written: Array<string> = []
  const stream = { isTTY, write: (text: string) => written.push(text) }
  return { written, stream: stream as unknown as NodeJS.WriteStream }
}

describe("The words of a job's failure", () => {
  it("distinguish impossible requests, damage, a full disk and a failed disk", () => {
    const codes = (["refused", "damaged", "died", "noSpace", "failed"] as const).map(
      (kind) => jobFailure(new JobFailed({ kind, detail: "Words" })).exitCode,
    )
    expect(codes).toEqual([1, 65, 65, 73, 74])
    const disk = (code: string) =>
      diskFailure(new DiskError({ operation: "write", path: "/x", code }))
    expect([disk("ENOSPC"), disk("EDQUOT"), disk("EIO")].map(({ exitCode }) => exitCode)).toEqual([
      73, 73, 74,
    ])
  })

  it("has a line for each fault", () => {
    const { lines } = jobFailure(
      new JobFailed({ kind: "refused", detail: "Line 1: a\nLine 7: b." }),
    )
    expect(lines).toEqual(["Line 1: a.", "Line 7: b."])
  })

  it.effect("returns the result of the job, with and without progress", () =>
    Effect.gen(function* () {
      const given = withProgressBar((progress) => {
        progress({ activity: "Copying", done: 1, total: 2 })
        return Effect.succeed(7)
      })
      expect(yield* given).toBe(7)
    }),
  )
})

describe("A progress bar", () => {
  it("is drawn on a terminal, and removed when it is cleared", () => {
    const { stream, written } = terminal(true)
    const bar = new ProgressBar("Copying", 2_048, { format: bytesText, terminal: stream })
    bar.update(1_024)
    bar.update(1_024)
    expect(written).toEqual([
      `\rCopying ${"█".repeat(15)}${"░".repeat(15)} 1.0 KiB of 2.0 KiB\u001b[K`,
    ])
    bar.clear()
    expect(written.at(-1)).toBe("\r\u001b[K")
  })

  it("prints nothing without a terminal", () => {
    const { stream, written } = terminal(false)
    const bar = new ProgressBar("Copying", 2, { terminal: stream })
    bar.update(1)
    bar.clear()
    expect(written).toEqual([])
  })
})

describe("Amounts", () => {
  it("are written in the largest unit whose value is at least 1", () => {
    expect(
      [0, 1_023, 1_024, 1_048_575, 1_048_576, 5 * 1_024 ** 3, 3 * 1_024 ** 5].map(bytesText),
    ).toEqual(["0 B", "1023 B", "1.0 KiB", "1024.0 KiB", "1.0 MiB", "5.0 GiB", "3072.0 TiB"])
    expect([0, 1, 1_234].map((n) => amountOf(n, "record"))).toEqual([
      "0 records",
      "1 record",
      "1,234 records",
    ])
  })
})
