/** The numbers of an endpoint: its stored deliveries by status, and how long it has been failing. */
import { compositeKey } from "../../storage/Keys.ts"
import type { DeliveryStatus } from "./Delivery.ts"

/** `stored` counts what the store has by status; `ended` everything that ever ended. */
export interface EndpointStats {
  readonly stored: Record<DeliveryStatus, number>
  readonly ended: Record<Exclude<DeliveryStatus, "pending">, number>
  /** How long nothing but failures came, and when the last attempt of those was; 0 after a success. */
  failingMs: number
  failedAt: number
  succeededAt: number
}

export const emptyStats = (): EndpointStats => ({
  stored: { pending: 0, succeeded: 0, failed: 0, dropped: 0 },
  ended: { succeeded: 0, failed: 0, dropped: 0 },
  failingMs: 0,
  failedAt: 0,
  succeededAt: 0,
})

export const statsKey = (endpoint: number): Uint8Array => compositeKey(endpoint)

/** The numbers as they are now. A flush may be of thousands of endpoints, and `structuredClone` would hold it up. */
export const copyOf = (stats: EndpointStats): EndpointStats => ({
  ...stats,
  stored: { ...stats.stored },
  ended: { ...stats.ended },
})

/** A delivery has gone from one status to another. */
export const count = (
  { ended, stored }: EndpointStats,
  before: DeliveryStatus | undefined,
  after: DeliveryStatus,
): void => {
  if (before === after) return
  stored[after]++
  if (before !== undefined) stored[before]--
  if (after !== "pending") ended[after]++
}
