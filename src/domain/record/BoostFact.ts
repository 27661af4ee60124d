/** The facts about the personal boosts of a user. */
import type { OwnBoost } from "../project/Boost.ts"
import type { Source } from "./BalanceFact.ts"

/** A personal boost of a user, as facts name it. */
export interface BoostRef extends OwnBoost {
  readonly boostId: string
  readonly name: string
}

export type BoostFact =
  /** The user got a personal boost, which runs from `startsAt` until `endsAt`; or lost it again. */
  | ({ readonly kind: "boost.earned"; readonly source: Source } & BoostRef)
  | ({ readonly kind: "boost.revoked" } & BoostRef)
