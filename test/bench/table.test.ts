import { readFileSync } from "node:fs"
import path from "node:path"
import { describe, expect, it } from "vitest"
import type { BenchLine } from "../../bench/Line.ts"
import { listOf, merged, missingFrom, renewed, summaryOf } from "../../bench/table.ts"
import { resultsOf } from "./results.ts"

const beside = (question: string, unit: string, ...values: ReadonlyArray<number>): BenchLine => ({
  question,
  unit,
  value: values[0]!,
  reference: { name: "bare node:http", value: values[1]!, unit },
  others: values.slice(2).map((value, n) => ({ name: ["PostgreSQL", "Redis"][n]!, value })),
})

describe("summaryOf", () => {
  it("names commit, machine and disk", () => {
    const caption = summaryOf(resultsOf())
    for (const part of ["`abc1234`", "AMD EPYC", "2 cores", "24 GiB", "26.10.0", "232 µs"]) {
      expect(caption).toContain(part)
    }
  })

  it("has a column for each program, a row for each question of README.md, the headline first", () => {
    const text = summaryOf(
      resultsOf(
        beside("single events at 10 % of Laurel's rate: 99 % within", "ms", 12.34, 2),
        beside("single events at 50 % of Laurel's rate: 99 % within", "ms", 1_500, 2, 25),
        beside("a board of 1,000,000: rank of a user", "µs", 1.9, 5),
        beside("single events: processor time, all threads", "µs/event", 81.26, 15, 320, 105),
      ),
    )
    expect(text.slice(text.indexOf("|"))).toBe(
      [
        "| question | Laurel | bare node:http | PostgreSQL | Redis |",
        "| --- | --- | --- | --- | --- |",
        "| **processor time of an event** | 81.3 µs | 15 µs | 320 µs | 105 µs |",
        "| 99 % within, at 50 % of Laurel's rate | 1.5 s | 2 ms | 25 ms | – |",
      ].join("\n"),
    )
  })

  it("shows no cost where it could not be measured", () => {
    // JSON has no NaN.
    const line = { ...beside("single events: processor time", "µs/event", 1, 15) }
    const read: BenchLine = JSON.parse(JSON.stringify({ ...line, value: Number.NaN }))
    expect(summaryOf(resultsOf(read))).toContain("| **processor time of an event** | – | 15 µs |")
  })
})

describe("listOf", () => {
  it("has the machine and every line, indented", () => {
    const list = listOf(resultsOf(beside("anything", "ms", 1, 2)))
    expect(list.split("\n")).toEqual([
      expect.stringMatching(/^ {4}AMD EPYC.*commit abc1234$/),
      "",
      expect.stringMatching(/^ {4}anything +1 ms +of 2 ms/),
    ])
  })
})

describe("missingFrom", () => {
  it("names the rows without a line in the run", () => {
    const all = missingFrom(resultsOf())
    const one = missingFrom(resultsOf(beside("single events: closed loop", "/s", 1, 2)))
    expect(all.filter((title) => !one.includes(title))).toEqual(["events, 64 connections"])
  })
})

describe("listOf", () => {
  it("explains the events that got no good reply where a line counts them", () => {
    const line = beside(
      "single events at 80 % of Laurel's rate: refused, broken or not sent",
      "%",
      29.5,
      0,
    )
    expect(listOf(resultsOf(line))).toContain("not sent: the share of the events due that got no")
    expect(listOf(resultsOf(beside("one", "ms", 1, 2)))).not.toContain("not sent")
  })
})

describe("merged", () => {
  const one = resultsOf(beside("one", "ms", 1, 2))
  const two = resultsOf(beside("two", "ms", 1, 2))
  it("has the lines of all runs of a commit", () => {
    expect(merged([one, two]).lines.map(({ question }) => question)).toEqual(["one", "two"])
  })

  it("refuses runs of different commits", () => {
    const machine = { ...two.machine, commit: "def5678" }
    expect(() => merged([one, { ...two, machine }])).toThrow("The runs are of abc1234 and def5678")
  })

  it("refuses runs of different machines", () => {
    const machine = { ...two.machine, cores: 8 }
    expect(() => merged([one, { ...two, machine }])).toThrow("2 cores, 24 GiB")
  })

  it("keeps the warning of the run beside which others worked the most", () => {
    const busy = { ...two, machine: { ...two.machine, busyPercent: 63.4 } }
    const words = "The machine was busy: other processes took up to 63 % of the processors."
    expect(summaryOf(merged([one, busy]))).toContain(words)
    expect(listOf(merged([busy, one]))).toContain(words)
    expect(summaryOf(one)).not.toContain("busy")
  })
})

describe("renewed", () => {
  it.each(["README.md", "bench/run.md"])("replaces one block of %s", (name) => {
    const page = readFileSync(path.resolve(import.meta.dirname, "../..", name), "utf8")
    const once = renewed(page, "first")
    expect(once).toMatch(/begin -->\n\nfirst\n\n<!--/)
    expect(renewed(once, "second")).toBe(once.replace("\nfirst\n", "\nsecond\n"))
    expect(once.split("<!--")[0]).toBe(page.split("<!--")[0])
    expect(once.split("-->").at(-1)).toBe(page.split("-->").at(-1))
  })

  it("refuses a page without marks", () => {
    expect(() => renewed("text", "first")).toThrow("A page needs")
  })
})
