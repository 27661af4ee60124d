/**
 * Three times as many events as the server can take: latency of accepted events, time to refuse the
 * others, and peak memory, beside a load well below capacity.
 */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { type BenchLine, comparing, formatLine } from "./Line.ts"
import { checkTotal, type Laurel, startLaurel } from "./laurel.ts"
import { closedLoop, closedLoopConnections, openLoop } from "./loads.ts"
import type { BenchOptions } from "./options.ts"

/** Shares of the rate in a closed loop: well below, and far above. */
const unsaturatedShare = 0.4
const overloadFactor = 3
const connections = 2_000

const residentMebibytes = async (pid: number): Promise<number> => {
  const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)])
  return Number(stdout) / 1_024
}

/** The most memory that the server had while `use` ran. */
const withPeak = async <A>(laurel: Laurel, use: () => Promise<A>): Promise<[A, number]> => {
  let peak = 0
  let ended = false
  const watching = (async () => {
    while (!ended) {
      peak = Math.max(peak, await residentMebibytes(laurel.pid))
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  })()
  const result = await use().finally(() => {
    ended = true
  })
  await watching
  return [result, peak]
}

/** Measures all lines; about 45 seconds. */
export const overload = async ({
  quick = false,
}: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const measureSeconds = quick ? 3 : 10
  const open = ({ answer }: Laurel, perSecond: number) =>
    openLoop(answer, { connections, perSecond, warmUpSeconds: quick ? 1 : 3, measureSeconds })
  const laurel = await startLaurel()
  try {
    const warm = await closedLoop(laurel.answer, quick ? 1 : 3)
    const first = await closedLoop(laurel.answer, quick ? 2 : 4)
    const capacity = first.perSecond
    const [calm, calmPeak] = await withPeak(laurel, () => open(laurel, capacity * unsaturatedShare))
    const [flood, floodPeak] = await withPeak(laurel, () => open(laurel, capacity * overloadFactor))
    // If a connection broke, it is unknown whether its event was applied.
    if (calm.broken + flood.broken === 0) {
      await checkTotal(
        laurel,
        warm.answered + first.answered + calm.acceptedInAll + flood.acceptedInAll,
        2 * closedLoopConnections,
      )
    }
    const unsaturated = `at ${unsaturatedShare}× of capacity`
    const line = comparing("3× overload", unsaturated)
    return [
      line("99 % of accepted events within", "ms", flood.whole.p99Ms, calm.whole.p99Ms, "≤ 5×"),
      line("median of accepted events", "ms", flood.whole.p50Ms, calm.whole.p50Ms),
      // Without a refusal there is no latency of refusals.
      ...(flood.refused === 0
        ? []
        : [
            {
              question: "3× overload: 99 % of refusals within",
              value: flood.refusals.p99Ms,
              unit: "ms",
              reference: { name: "median refusal", value: flood.refusals.p50Ms, unit: "ms" },
            },
          ]),
      {
        question: "3× overload: refused events",
        value: (flood.refused / flood.offered) * 100,
        unit: "%",
        reference: { name: unsaturated, value: (calm.refused / calm.offered) * 100, unit: "%" },
      },
      {
        question: "3× overload: accepted events",
        value: flood.accepted / measureSeconds,
        unit: "/s",
        reference: { name: "closed loop, 64 connections", value: capacity, unit: "/s" },
        ratio: flood.accepted / measureSeconds / capacity,
      },
      {
        question: "3× overload: events that found no free connection",
        value: (flood.unsent / flood.offered) * 100,
        unit: "%",
        reference: {
          name: unsaturated,
          value: (calm.unsent / calm.offered) * 100,
          unit: "%",
        },
      },
      line("peak of resident memory", "MiB", floodPeak, calmPeak),
      {
        question: "3× overload: longest time that the load stood still",
        value: Math.max(calm.longestPauseMs, flood.longestPauseMs),
        unit: "ms",
        goal: "< 100 ms, else the machine was busy",
      },
      {
        question: "3× overload: share of time the load was busy",
        value: flood.utilization * 100,
        unit: "%",
        goal: "< 90 %, else it is the limit",
      },
    ]
  } finally {
    await laurel.stop()
  }
}

if (import.meta.main) for (const line of await overload()) console.log(formatLine(line))
