/** The options of a bench on the command line. */
import type { Target } from "./load/wrk.ts"

export interface BenchOptions {
  /** Short rounds and few users, to try the suite: the numbers mean little. */
  readonly quick?: boolean
  /** A running server, instead of the suite's own and the peers. */
  readonly target?: Target
  readonly connections?: number
  /** Of the open loop, for each second; instead of shares of saturation. */
  readonly rate?: number
  /** Of each round. */
  readonly seconds?: number
  /** Of the soak. */
  readonly minutes?: number
}
