/** The request of every revocation, and what replies tell of one. */
import { Effect } from "effect"
import type { PurchaseRefundReply } from "../../domain/message/PurchaseReply.ts"
import type { RevocationReply } from "../../domain/message/UserReply.ts"
import type { Revocable, Revocation } from "../../domain/record/Record.ts"
import { recordNameOf, revocablePrefix } from "../../domain/values/Ids.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { OperationRequest } from "../contract/Operation.ts"
import { readByEitherId, readRevocation } from "./readHistory.ts"

type RevocationRequest = Pick<
  OperationRequest<{ readonly id: string }, unknown, unknown>,
  "caller" | "idempotency" | "params"
>

/**
 * Revokes what the id names, Laurel's or the caller's. The refusal of a repeat says when it was revoked, so
 * that a caller who lost the first reply knows.
 */
export const revoke = <Of extends Revocable>(
  engine: Engine["Service"],
  { caller, idempotency, params }: RevocationRequest,
  of: Of,
  id: string,
) => {
  const name = recordNameOf(revocablePrefix[of], id) ?? noRecord
  const command: Revocation<Of> = { kind: "revocation", of, ...name, ownId: id }
  const { environment } = caller
  return Effect.catch(
    engine.askUser(environment, { userId: params.id, command }, idempotency),
    (error) => {
      if (error.code !== `${of}_not_found`) return Effect.fail(error)
      const read = revokedBefore(engine, environment, params.id, of, id)
      return Effect.flatMap(read, (before) => Effect.fail({ ...error, ...before }))
    },
  )
}

/** The members of the refusal, if it was revoked; else none. */
const revokedBefore = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  userId: string,
  of: Revocable,
  id: string,
) {
  const record = yield* readByEitherId(engine, environment, userId, of, id)
  if (record === undefined) return {}
  const { revokedAt } = yield* readRevocation(engine, record)
  if (revokedAt === null) return {}
  const detail = `The ${of} was already revoked, at ${revokedAt}. This request changed nothing.`
  return { detail, revokedAt }
})

/** The name for an id that does not have the form of Laurel's ids. No record has it. */
const noRecord = { sequence: 0, at: 0 } as const

/** What was taken back. */
export const undone = ({
  badgesRevoked,
  balances,
  boostsRevoked,
  currencies,
  expired,
  freezes,
  goals,
  level,
  points,
  quests,
  shortfall,
  userId,
  xp,
}: RevocationReply | PurchaseRefundReply) => ({
  userId,
  xp: { revoked: 0 - xp.earned, total: xp.total },
  points: { revoked: 0 - points.earned, total: points.total },
  ...(currencies !== undefined && { currencies: revokedOf(currencies) }),
  ...(freezes !== undefined && { freezes: revokedOf(freezes) }),
  ...(goals !== undefined && { goals }),
  ...(balances !== undefined && { balances }),
  level,
  badges: badgesRevoked,
  ...(boostsRevoked.length > 0 && { boosts: boostsRevoked }),
  quests,
  shortfall,
  ...(expired !== undefined && { expired }),
})

const revokedOf = (changes: {
  readonly [key: string]: { readonly earned: number; readonly total: number }
}) =>
  Object.fromEntries(
    Object.entries(changes).map(([key, { earned, total }]) => [
      key,
      { revoked: 0 - earned, total },
    ]),
  )
