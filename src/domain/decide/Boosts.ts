/**
 * The boosts of one decision: those that multiply what it pays, and those that it gives the user.
 *
 * A personal boost runs for the minutes that its reward names, from the time at which the event
 * occurred that the reward is for. It counts for later decisions. It is an interval of its own: two
 * rewards of one boost may overlap, and the boost multiplies once while at least one runs. So an
 * undo takes back exactly what the record gave, in any order.
 */
import { limits } from "../../Limits.ts"
import { type Boost, boostsAt, ownBoostsAt, type RunningBoosts } from "../project/Boost.ts"
import { type BoostGift, type Gives, paysAt } from "../project/Definition.ts"
import { definitionWithKey } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import type { Source } from "../record/BalanceFact.ts"
import type { Fact, FactOf } from "../record/Record.ts"
import type { Membership } from "../user/Membership.ts"
import { type UserState, userZoneAt } from "../user/User.ts"
import type { Zone } from "../values/Calendar.ts"
import { type LaurelError, laurelError } from "../values/Errors.ts"

const minuteMs = 60_000

/** What boosts need of a decision in progress (`Draft.ts`). */
interface Decision {
  readonly user: UserState | undefined
  readonly project: ProjectState
  readonly now: number
  readonly occurredAt: number
  readonly eventZone: Zone
  readonly membership: Membership
  readonly facts: Array<Fact>
}

/** The boosts for the user that ran when the event occurred, those of the user's own behind. */
export const boostsFor = ({
  eventZone,
  membership,
  occurredAt,
  project,
  user,
}: Decision): RunningBoosts => {
  const { boosts } = project
  const zone = () => userZoneAt(user, project, occurredAt)
  const running = boostsAt(boosts, occurredAt, eventZone, zone).forMember((segment) =>
    membership.has(segment),
  )
  if (user === undefined || user.boosts.length === 0) return running
  return running.plus(ownBoostsAt(boosts, user.boosts, occurredAt))
}

/** What a rule or a quest pays: `gives` times the boosts, rounded down. */
export const boosted = ({ boosts }: { readonly boosts: RunningBoosts }, gives: Gives): Gives => {
  const { currencies, points, xp } = gives
  if (keepsAll(boosts, gives)) return gives
  const further = Object.entries(currencies ?? {}).map(([key, amount]) => [
    key,
    boosts.times(key, amount),
  ])
  return {
    ...gives,
    xp: boosts.times("xp", xp),
    points: boosts.times("points", points),
    ...(currencies !== undefined && { currencies: Object.fromEntries(further) }),
  }
}

const keepsAll = (boosts: RunningBoosts, { currencies, points, xp }: Gives): boolean => {
  if (!boosts.keeps("xp", xp) || !boosts.keeps("points", points)) return false
  for (const key in currencies) if (!boosts.keeps(key, currencies[key]!)) return false
  return true
}

/** How many boosts of the user's own run, those of the decision included. */
const runningOwn = ({ facts, now, user }: Decision): number => {
  const isRunning = ({ endsAt }: { readonly endsAt: number }) => endsAt > now
  const given = facts.filter((fact) => fact.kind === "boost.earned" && isRunning(fact))
  return given.length + (user?.boosts.filter(isRunning).length ?? 0)
}

/**
 * The boost that a reward names, if it can be given: it pays at the time of the event, and not too
 * many of the user's own run.
 */
export const givableBoost = (draft: Decision, { key }: BoostGift): Boost | undefined => {
  const boost = definitionWithKey(draft.project.boosts, key)
  if (boost === undefined || !boost.personal || !paysAt(boost, draft.occurredAt)) return undefined
  return runningOwn(draft) < limits.ownBoostsMax ? boost : undefined
}

/** Gives a boost, if it can be given. */
export const giveBoost = (draft: Decision, gift: BoostGift, source: Source): void => {
  const boost = givableBoost(draft, gift)
  if (boost === undefined) return
  const { id: boostId, key, name } = boost
  const startsAt = draft.occurredAt
  const endsAt = startsAt + gift.minutes * minuteMs
  draft.facts.push({ kind: "boost.earned", boostId, key, name, startsAt, endsAt, source })
}

/** The refusal to grant a boost by a request. */
export const boostRefusal = (
  draft: Decision,
  gift: BoostGift,
): LaurelError<"boost_not_found" | "boost_not_active" | "quota_exceeded"> | undefined => {
  const boost = definitionWithKey(draft.project.boosts, gift.key)
  if (boost === undefined || !boost.personal || boost.set === "archived") {
    return laurelError("boost_not_found", "reward.boost.key matches no personal boost.")
  }
  if (!paysAt(boost, draft.occurredAt)) {
    return laurelError("boost_not_active", `The boost's status is ${boost.set}.`)
  }
  return givableBoost(draft, gift) === undefined
    ? laurelError("quota_exceeded", `${limits.ownBoostsMax} boosts of the user's own are running.`)
    : undefined
}

/** What an undo takes back of the boosts that a record gave: those that the user still has. */
export const revokedBoosts = (
  { boosts }: UserState,
  given: ReadonlyArray<FactOf<"boost.earned">>,
): ReadonlyArray<FactOf<"boost.revoked">> => {
  const left = [...boosts]
  return given.flatMap(({ boostId, endsAt, key, name, startsAt }) => {
    const at = left.findIndex(
      (own) => own.key === key && own.startsAt === startsAt && own.endsAt === endsAt,
    )
    if (at < 0) return []
    left.splice(at, 1)
    return [{ kind: "boost.revoked", boostId, key, name, startsAt, endsAt }]
  })
}
