import { Effect } from "effect"
import { type Caller, isClient } from "../../accounts/Accounts.ts"
import { makeId } from "../../accounts/KeyText.ts"
import type { BadgeChange, CriterionParts } from "../../domain/decide/BadgeDefinitions.ts"
import type { Badge, BadgeTier } from "../../domain/project/Definition.ts"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import { decidedAt } from "../../domain/record/Record.ts"
import { isShownAt } from "../../domain/user/Progress.ts"
import { laurelError } from "../../domain/values/Errors.ts"
import { isoTime, isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { BackfillProgress } from "../../engine/badges/Backfills.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { BadgePatch, Badges, NewBadge } from "../api/Badges.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { definitionOperations, isOfStatus, type StatusQuery } from "./definitionOperations.ts"
import {
  allParts,
  factOf,
  foundOr,
  mayKnow,
  named,
  newMembers,
  partsChange,
  patchOf,
  referenceFaults,
  replacementOf,
  showDefinition,
  wholeReward,
} from "./Shapes.ts"

export const badgeHandlers = (engine: Engine["Service"]): Handlers<typeof Badges> => ({
  ...definitionOperations(engine, {
    plural: "badges",
    definitionsOf: ({ badges }) => badges,
    find: (all, idOrKey) => definitionOf(all, idOrKey),
    isListed: (badge, query: StatusQuery, now) => isOfStatus(badge, query, now),
    isVisible: (badge, caller, now) =>
      isShown(badge, caller, now) && mayKnow(engine, badge, caller, now),
    notFound: badgeNotFound,
    moreFaults: referenceFaults(engine),
    show: showBadge,
    showFound: (badge, { environment }) =>
      Effect.sync(() => showBadge(badge, engine.timeIn(environment))),
    create: (payload: typeof NewBadge.Type) =>
      ({ kind: "createBadge", badge: newBadge(payload, makeId("bdg")) }) as const,
    showCreated: (record) => showBadge(factOf(record, "badge.created").badge, decidedAt(record)),
    update: (badgeId, { reward, secret, tiers, ...patch }: typeof BadgePatch.Type) => {
      const change = named({
        ...patchOf(patch),
        secret: secret === null ? false : secret,
        tiers: tiers === null ? [] : tiers?.map(newTier),
        reward: reward === null ? wholeReward(allParts({})) : reward && partsChange(reward),
      })
      return { kind: "updateBadge", badgeId, change } as const
    },
    showUpdated: (record) => showBadge(factOf(record, "badge.updated").badge, decidedAt(record)),
    delete: (badgeId) => ({ kind: "deleteBadge", badgeId }) as const,
  }),
  startBackfill: {
    handle: ({ caller, idempotency, params, payload: { notify = false } }) => {
      const command = { kind: "startBackfill", badgeId: params.id, notify } as const
      const asked = engine.askProject(caller.environment, command, idempotency)
      return Effect.map(asked, ({ replayed, reply }) => {
        const { badgeId, notify } = factOf(reply, "backfill.started")
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
  const paid = { tiers: tiers.map(newTier), reward: allParts(reward) }
  return { id, ...newMembers(payload), name, icon, secret, criteria, ...paid }
}

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
  const { criteria, reward, ...members } = replacementOf(newBadge(payload, ""), payload)
  const none = {
    target: undefined,
    action: undefined,
    where: undefined,
    sumPath: undefined,
    streak: undefined,
    metric: undefined,
  }
  return {
    ...members,
    reward: wholeReward(reward),
    criteria: { ...none, ...criteria } as CriterionParts,
  }
}

const backfillNotFound = laurelError(
  "backfill_not_found",
  "The badge has no backfill, or is archived.",
)

const showBackfill = (badgeId: string, progress: BackfillProgress) => ({
  badgeId,
  ...progress,
  startedAt: isoTime(progress.startedAt),
  finishedAt: isoTimeOrNull(progress.finishedAt),
})

const badgeNotFound = laurelError("badge_not_found", "No badge of this project has this id or key.")

const isShown = (badge: Badge, caller: Caller, now: number): boolean =>
  !isClient(caller) || (!badge.secret && isShownAt(badge, now))

const showBadge = showDefinition<Badge>
