/**
 * The trace that a request belongs to: its `traceparent` (W3C Trace Context, level 1). A field that breaks a rule of the
 * specification counts as none. Laurel passes the caller's span on unchanged; `tracestate` ends here.
 */

/** Lower-case hexadecimal digits: 32 and 16. */
export interface TraceParent {
  readonly traceId: string
  readonly parentSpanId: string
  /** The caller records the trace. */
  readonly sampled: boolean
}

/** Later versions may add parts. */
const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** `field`: of several lines, Node joins the values with commas. */
export const traceParentOf = (field: unknown): TraceParent | undefined => {
  const [, version, traceId, parentSpanId, flags, more] = form.exec(String(field ?? "")) ?? []
  if (version === undefined || version === "ff") return undefined
  if (version === "00" && more !== undefined) return undefined
  if (/^0*$/.test(traceId!) || /^0*$/.test(parentSpanId!)) return undefined
  const sampled = (Number.parseInt(flags!, 16) & sampledFlag) !== 0
  return { traceId: traceId!, parentSpanId: parentSpanId!, sampled }
}

const sampledFlag = 1
