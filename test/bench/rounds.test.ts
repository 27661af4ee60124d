import { describe, expect, it } from "vitest"
import type { OpenLoadReport } from "../../bench/processes/openLoad.ts"
import {
  type ClosedRound,
  closedLines,
  lineOf,
  type Measured,
  openLines,
} from "../../bench/rounds.ts"
import type { Subject } from "../../bench/Subject.ts"

const named = (name: string, ...rounds: ReadonlyArray<number>) => ({ subject: { name }, rounds })

describe("lineOf", () => {
  const pick = (round: number) => round
  it("puts the first one's median beside the second as reference and the others", () => {
    const measured = [named("ours", 3, 1, 2), named("bare", 1, 1, 4), named("peer", 8, 9, 7)]
    expect(lineOf("q", "ms", measured, pick)).toEqual({
      question: "q",
      unit: "ms",
      value: 2,
      rounds: [3, 1, 2],
      reference: { name: "bare", value: 1, unit: "ms" },
      ratio: 2,
      others: [{ name: "peer", value: 8, rounds: [8, 9, 7] }],
    })
  })

  it("has no ratio to nothing, and none without a reference", () => {
    expect(lineOf("q", "%", [named("ours", 1), named("bare", 0)], pick)).not.toHaveProperty("ratio")
    expect(lineOf("q", "%", [named("ours", 1)], pick)).not.toHaveProperty("reference")
  })
})

describe("openLines", () => {
  const report = (longestMs: ReadonlyArray<number>): OpenLoadReport => ({
    seconds: longestMs.length,
    offered: 100,
    unsent: 5,
    accepted: 90,
    refused: 4,
    acceptedInAll: 90,
    broken: 1,
    longestPauseMs: 3,
    utilization: 0.1,
    whole: { p50Ms: 1, p99Ms: 2, p999Ms: 3, maxMs: Math.max(...longestMs), histogram: [] },
    refusals: { p50Ms: 0, p99Ms: 0, p999Ms: 0, maxMs: 0, histogram: [] },
    longestMs,
    loadUs: 4,
  })
  const laurel = { name: "Laurel" } as Subject
  const measured: ReadonlyArray<Measured<OpenLoadReport>> = [
    { subject: laurel, rounds: [report([5, 6]), report([70, 8])] },
  ]

  it("counts what was refused, broke or was not sent as failed", () => {
    const failed = openLines("b", { perSecond: 50 }, measured).find(({ unit }) => unit === "%")
    expect(failed!.value).toBeCloseTo(10)
  })

  it("has the longest latency of each second, one round after the other", () => {
    const points = openLines("b", { perSecond: 50 }, measured).flatMap(({ points = [] }) => points)
    const pauses = points.filter(({ chart }) => chart.includes("each second"))
    expect(pauses.map(({ x, y }) => [x, y])).toEqual([
      [1, 5],
      [2, 6],
      [3, 70],
      [4, 8],
    ])
  })

  it("has the same questions at whatever rate a share is, so that runs compare", () => {
    const questions = (perSecond: number, share?: number) =>
      openLines("b", { perSecond, ...(share !== undefined && { share }) }, measured).map(
        ({ question }) => question,
      )
    expect(questions(4_000, 0.5)).toEqual(questions(5_000, 0.5))
    expect(questions(4_000, 0.5)[0]).toBe("b at 50 % of Laurel's rate: offered")
    expect(questions(4_000)[0]).toBe("b at 4,000/s: offered")
  })
})

describe("closedLines", () => {
  const histogram: ReadonlyArray<never> = []
  const report = {
    ...{ requests: 1_000, durationUs: 20_000, p99Us: 4_000, loadUs: 5 },
    histogram,
  } as unknown as ClosedRound["report"]
  const linesOf = (costUs: number) =>
    closedLines("b", "event", [
      { subject: { name: "Laurel" } as Subject, rounds: [{ costUs, perSecond: 100, report }] },
    ]).map(({ question, unit, value }) => [question, value, unit])

  it("has the cost first", () => {
    expect(linesOf(80)).toEqual([
      ["b: processor time, all threads", 80, "µs/event"],
      ["b: closed loop", 100, "/s"],
      ["b: 99 % within, closed loop", 4, "ms"],
      ["b: the load's own time, wrk", 5, "µs/request"],
      ["b: share of time the load was busy", 25, "%"],
    ])
  })

  it("leaves the cost out where it cannot be measured", () => {
    expect(linesOf(Number.NaN)[0]).toEqual(["b: closed loop", 100, "/s"])
  })
})
