/** The options of a bench on the command line. */
import type { Target } from "./load/wrk.ts"

/** Another server of Laurel to compare with: of another checkout, or with other settings. */
export interface Variant {
  readonly name: string
  /** The path of a checkout with its `node_modules`; by default this one. */
  readonly checkout?: string
  /** Variables of its environment. */
  readonly settings: Readonly<Record<string, string>>
}

export interface BenchOptions {
  /** Short rounds and few users, to try the suite: the numbers mean little. */
  readonly quick?: boolean
  /** A running server, instead of the suite's own and the peers. */
  readonly target?: Target
  readonly connections?: number
  /** Of the open loop, for each second; instead of shares of the rate of the closed loop. */
  readonly rate?: number
  /** Of each round. */
  readonly seconds?: number
  /** Of `single`, `zipf`, `batch`, `steady`, `crowd` and `past`, instead of their own number. */
  readonly users?: number
  /** Further servers of Laurel that take part. */
  readonly variants?: ReadonlyArray<Variant>
  /** Without the bare server and the peers. */
  readonly alone?: boolean
  /** Of the soak. */
  readonly minutes?: number
}
