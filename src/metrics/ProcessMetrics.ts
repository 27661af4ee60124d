/** The metrics of the process: memory, CPU time, delay of the event loop, garbage collection. */
import { constants, PerformanceObserver } from "node:perf_hooks"
import { Effect, type Scope } from "effect"
import { commitOf, version } from "../Build.ts"
import { limits } from "../Limits.ts"
import { LongTurns, observeTurns, type TurnCause, turnCauses } from "./LongTurns.ts"
import type { Histogram, Metrics } from "./Metrics.ts"

/** Observes this process until the scope closes. */
export const observeProcess = (metrics: Metrics): Effect.Effect<void, never, Scope.Scope> => {
  metrics.gauge("laurel_build_info", () => 1, {
    version,
    commit: commitOf(),
    node: process.versions.node,
  })
  metrics.readCounter("laurel_metric_read_failures_total", () => metrics.readFailures)
  metrics.readCounter("process_cpu_seconds_total", () => {
    const { system, user } = process.cpuUsage()
    return (system + user) / 1e6
  })
  metrics.gauge("process_resident_memory_bytes", () => process.memoryUsage.rss())
  metrics.gauge("process_start_time_seconds", () => performance.timeOrigin / 1_000)
  metrics.gauge("nodejs_heap_used_bytes", () => process.memoryUsage().heapUsed)
  metrics.gauge("nodejs_external_memory_bytes", () => process.memoryUsage().external)
  metrics.readCounter(
    "laurel_event_loop_busy_seconds_total",
    () => performance.eventLoopUtilization().active / 1_000,
  )
  return Effect.flatMap(observeLongTurns(metrics), (turns) =>
    Effect.andThen(observeEventLoop(metrics, turns), observeCollections(metrics, turns)),
  )
}

const observeLongTurns = (metrics: Metrics): Effect.Effect<LongTurns, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const histograms = turnCauses.map((cause) => [
        cause,
        metrics.histogram("laurel_event_loop_long_turns_seconds", { cause }),
      ])
      const turns = new LongTurns(Object.fromEntries(histograms) as Record<TurnCause, Histogram>)
      observeTurns(turns)
      return turns
    }),
    () => Effect.sync(() => observeTurns(undefined)),
  )

const observeCollections = (
  metrics: Metrics,
  turns: LongTurns,
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => {
        const of = (kind: string) => metrics.histogram("nodejs_gc_duration_seconds", { kind })
        const other = of("other")
        const byKind = new Map([
          [constants.NODE_PERFORMANCE_GC_MINOR, of("minor")],
          [constants.NODE_PERFORMANCE_GC_MAJOR, of("major")],
        ])
        const observer = new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) {
            const { detail, duration, startTime } = entry as typeof entry & {
              readonly detail: { readonly kind: number }
            }
            const histogram = byKind.get(detail.kind) ?? other
            histogram.observe(duration / 1_000)
            // The steps of a major collection have other kinds.
            const isMinor = detail.kind === constants.NODE_PERFORMANCE_GC_MINOR
            turns.collection(isMinor ? "gc_minor" : "gc_major", startTime, startTime + duration)
          }
        })
        observer.observe({ entryTypes: ["gc"] })
        return observer
      }),
      (observer) => Effect.sync(() => observer.disconnect()),
    ),
  )

const observeEventLoop = (
  metrics: Metrics,
  turns: LongTurns,
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => {
        const delay = metrics.histogram("laurel_event_loop_delay_seconds")
        let due = performance.now() + limits.eventLoopSampleMs
        const timer = setInterval(() => {
          const now = performance.now()
          delay.observe(Math.max(0, now - due) / 1_000)
          turns.turn("other", due, now)
          turns.tick(now)
          due = now + limits.eventLoopSampleMs
        }, limits.eventLoopSampleMs)
        return timer.unref()
      }),
      (timer) => Effect.sync(() => clearInterval(timer)),
    ),
  )
