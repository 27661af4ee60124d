/** Metrics of the process: memory, CPU, delay of the event loop. */
import { constants, PerformanceObserver } from "node:perf_hooks"
import { Effect, type Scope } from "effect"
import { limits } from "../Limits.ts"
import type { Metrics } from "./Metrics.ts"

/** Observes this process until the scope closes. */
export const observeProcess = (metrics: Metrics): Effect.Effect<void, never, Scope.Scope> => {
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
  return Effect.andThen(observeEventLoop(metrics), observeCollections(metrics))
}

const observeCollections = (metrics: Metrics): Effect.Effect<void, never, Scope.Scope> =>
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
            const { detail, duration } = entry as typeof entry & {
              readonly detail: { readonly kind: number }
            }
            const histogram = byKind.get(detail.kind) ?? other
            histogram.observe(duration / 1_000)
          }
        })
        observer.observe({ entryTypes: ["gc"] })
        return observer
      }),
      (observer) => Effect.sync(() => observer.disconnect()),
    ),
  )

const observeEventLoop = (metrics: Metrics): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => {
        const delay = metrics.histogram("laurel_event_loop_delay_seconds")
        let due = performance.now() + limits.eventLoopSampleMs
        const timer = setInterval(() => {
          const now = performance.now()
          delay.observe(Math.max(0, now - due) / 1_000)
          due = now + limits.eventLoopSampleMs
        }, limits.eventLoopSampleMs)
        return timer.unref()
      }),
      (timer) => Effect.sync(() => clearInterval(timer)),
    ),
  )
