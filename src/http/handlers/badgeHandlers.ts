import { Effect } from "effect"
import { type Caller, isClient } from "../../accounts/Accounts.ts"
import type { BadgeChange, CriterionParts } from "../../domain/decide/BadgeDefinitions.ts"
import { awardName, type Badge, type BadgeTier } from "../../domain/project/Definition.ts"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import { decidedAt } from "../../domain/record/Record.ts"
import { isShownAt } from "../../domain/user/Progress.ts"
import { isoTime, isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { BackfillProgress } from "../../engine/badges/Backfills.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { BadgePatch, Badges, NewBadge } from "../api/Badges.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { kindOperations } from "./definitionOperations.ts"
import {
  allParts,
  backfillNotFound,
  badgeNotFound,
  factOf,
  foundOr,
  mayKnow,
  named,
  newMembers,
  partsChange,
  patchOf,
  replacementOf,
  showDefinition,
  wholeReward,
} from "./Shapes.ts"

export const badgeHandlers = (engine: Engine["Service"]): Handlers<typeof Badges> => ({
  ...kindOperations(engine, "badge", {
    made: newBadge,
    changed: badgeChange,
    show: showBadge,
    found: (badge, shown, { environment }) =>
      Effect.map(heldIn(engine)(environment), (complete) => complete(badge, shown)),
    listed: heldIn(engine),
    isVisible: (badge, caller, now) =>
      isShown(badge, caller, now) && mayKnow(engine, badge, caller, now),
  }),
  startBackfill: {
    handle: ({ caller, idempotency, params, payload: { notify = false } }) => {
      const command = { kind: "startBackfill", badgeId: params.id, notify } as const
      const asked = engine.askProject(caller.environment, command, idempotency)
      return Effect.map(asked, ({ replayed, reply }) => {
        const { definitionId: badgeId, notify } = factOf(reply, "backfill.started")
        const location = `/v1/badges/${badgeId}/backfill`
        return {
          body: { badgeId, notify, startedAt: isoTime(decidedAt(reply)) },
          replayed,
          location,
        }
      })
    },
  },
  getBackfill: {
    handle: ({ caller: { environment }, params }) =>
      Effect.gen(function* () {
        const { badges } = yield* engine.readProject(environment)
        const { id } = yield* foundOr(definitionOf(badges, params.id), badgeNotFound)
        const progress = yield* engine.readBackfill(environment, id)
        return { body: showBackfill(id, yield* foundOr(progress, backfillNotFound)) }
      }),
  },
})

export const newBadge = (payload: typeof NewBadge.Type, id: string) => {
  const { criteria, icon = null, name, reward = {}, secret = false, tiers = [] } = payload
  const { repeatable = false } = payload
  const paid = { tiers: tiers.map(newTier), reward: allParts(reward) }
  return { id, ...newMembers(payload), name, icon, secret, repeatable, criteria, ...paid }
}

const badgeChange = ({ reward, secret, tiers, ...patch }: typeof BadgePatch.Type): BadgeChange =>
  named({
    ...patchOf(patch),
    secret: secret === null ? false : secret,
    tiers: tiers === null ? [] : tiers?.map(newTier),
    reward: reward === null ? wholeReward(allParts({})) : reward && partsChange(reward),
  })

const newTier = ({
  icon,
  reward = {},
  ...tier
}: NonNullable<(typeof NewBadge.Type)["tiers"]>[number]): BadgeTier => ({
  ...tier,
  icon: icon ?? null,
  reward: allParts(reward),
})

/**
 * The change of a badge to the one that `payload` describes. Key and metadata stay, and so does the
 * status if `payload` has none.
 */
export const badgeReplacement = (payload: typeof NewBadge.Type): BadgeChange => {
  const {
    criteria,
    repeatable: _,
    reward,
    ...members
  } = replacementOf(newBadge(payload, ""), payload)
  const none = {
    target: undefined,
    action: undefined,
    where: undefined,
    sumPath: undefined,
    streak: undefined,
    metric: undefined,
    badges: undefined,
  }
  return {
    ...members,
    reward: wholeReward(reward),
    criteria: { ...none, ...criteria } as CriterionParts,
  }
}

const showBackfill = (badgeId: string, progress: BackfillProgress) => ({
  badgeId,
  ...progress,
  startedAt: isoTime(progress.startedAt),
  finishedAt: isoTimeOrNull(progress.finishedAt),
})

const isShown = (badge: Badge, caller: Caller, now: number): boolean =>
  !isClient(caller) || (!badge.secret && isShownAt(badge, now))

const showBadge = showDefinition<Badge>

/** Adds to a badge the users who have it, and each of its tiers. */
const heldIn = (engine: Engine["Service"]) => (environment: string) =>
  Effect.map(engine.readCounts(environment), ({ badges, users }) => {
    const holdersOf = (id: string, tier?: string) => {
      const count = badges.get(awardName(id, tier)) ?? 0
      return { count, share: users === 0 ? 0 : count / users }
    }
    return ({ id, tiers }: Badge, shown: ReturnType<typeof showBadge>) => {
      const byTier = Object.fromEntries(tiers.map(({ key }) => [key, holdersOf(id, key)]))
      const holders = { ...holdersOf(id), ...(tiers.length > 0 && { tiers: byTier }) }
      return { ...shown, holders }
    }
  })
