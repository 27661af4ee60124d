/** Items as definitions, and purchases of users. */
import { Effect } from "effect"
import { type Caller, isClient } from "../../accounts/Accounts.ts"
import type { ItemChange } from "../../domain/decide/ItemDefinitions.ts"
import { definitionNotFound } from "../../domain/decide/Kind.ts"
import { createCommand, updateCommand } from "../../domain/decide/Kinds.ts"
import { type Offer, Shop } from "../../domain/decide/Shop.ts"
import type { PurchaseReply } from "../../domain/message/PurchaseReply.ts"
import { replyOf } from "../../domain/message/UserReply.ts"
import type { Amounts } from "../../domain/project/Currency.ts"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import { type Item, leftOf } from "../../domain/project/Item.ts"
import { decidedAt } from "../../domain/record/Record.ts"
import { Membership } from "../../domain/user/Membership.ts"
import { isShownAt } from "../../domain/user/Progress.ts"
import type { UserState } from "../../domain/user/User.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { isoTime, isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Engine, StorageCode } from "../../engine/Engine.ts"
import { scopesOf } from "../api/Common.ts"
import { buyingRefusals, type ItemForUser, ItemPatch, type Items, NewItem } from "../api/Items.ts"
import { type PurchaseDetails, Purchases } from "../api/Purchases.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { insufficientScope } from "../request/Problem.ts"
import { type DefinitionList, kindOperations, pageOf } from "./definitionOperations.ts"
import { type RecordOf, readByEitherId, readRevocation } from "./readHistory.ts"
import { referenceFaults } from "./referenceFaults.ts"
import { revoke, undone } from "./revocations.ts"
import { readPage } from "./rewardHandlers.ts"
import {
  allParts,
  earnedMembers,
  foundOr,
  isUnknownTo,
  mayKnow,
  memberOf,
  named,
  newMembers,
  pageAsked,
  partsChange,
  patchOf,
  replacementOf,
  showDefinition,
  showRepeat,
  userNotFound,
  wholeReward,
} from "./Shapes.ts"

export const itemHandlers = (engine: Engine["Service"]): Handlers<typeof Items> => ({
  ...kindOperations(engine, "item", {
    made: newItem,
    bodies: {
      schemas: { created: NewItem, changed: ItemPatch },
      valid: { name: "I", price: { points: 1 } },
      restsOn: { endsAt: ["startsAt"] },
    },
    changed: itemChange,
    show: showItem,
    found: (item, shown, { environment }) =>
      Effect.map(soldIn(engine)(environment), (complete) => complete(item, shown)),
    listed: soldIn(engine),
    isVisible: (item, caller, now) =>
      (!isClient(caller) || isShownAt(item, now)) && mayKnow(engine, item, caller, now),
  }),
  ofUser: {
    handle: ({ caller: { environment }, params: { id: userId }, query }) =>
      Effect.gen(function* () {
        const asked = yield* pageAsked<DefinitionList>(
          "items",
          environment,
          { user: userId },
          query,
        )
        const user = yield* foundOr(yield* engine.readUser(environment, userId), userNotFound)
        const project = yield* engine.readProject(environment)
        const { sold } = yield* engine.readCounts(environment)
        const now = engine.timeIn(environment)
        const membership = new Membership({ userId, user, project, now })
        const isFor = (item: Item) => isShownAt(item, now) && membership.has(item.segment)
        const { items, ...page } = pageOf(project.items, asked, isFor)
        const shop = new Shop(user, project, now, (id) => sold.get(id) ?? 0)
        const shown = items.map((item) => ({
          ...withSold(item, showItem(item, now), sold),
          ...showOffer(shop.offer(item)),
        }))
        return { body: { userId, spendable: shop.spendable(), items: shown, ...page } }
      }),
  },
  ...previewHandlers(engine),
})

const draftId = "itm_draft"

const previewHandlers = (engine: Engine["Service"]): Pick<Handlers<typeof Items>, "preview"> => ({
  preview: {
    moreFaults: (body, caller) =>
      referenceFaults(engine)(memberOf(body, "item"), caller).map((fault) => ({
        ...fault,
        pointer: `/item${fault.pointer}`,
      })),
    handle: ({ caller: { environment }, payload: { item, itemId, userId } }) => {
      const command =
        itemId === undefined
          ? createCommand("item", newItem(item, draftId))
          : updateCommand("item", itemId, itemReplacement(item))
      const message = { userId, command: { kind: "purchase", item: itemId ?? draftId } } as const
      return engine.simulate(environment, message, [{ pointer: "/item", command }]).pipe(
        Effect.map(({ record }) => {
          const reply = replyOf(record) as PurchaseReply
          const purchase = { price: reply.price, ...earnedMembers(reply) }
          return { body: { userId, refusal: null, purchase } }
        }),
        Effect.catch((error) => {
          const { balances, code, detail } = error
          if (!isRefused(code)) {
            // A purchase without an id repeats none.
            return Effect.fail(error as LaurelError<Exclude<typeof code, "id_reused">>)
          }
          const refusal = showRefusal(code, detail, missingOf(item.price, balances))
          return Effect.succeed({ body: { userId, refusal, purchase: null } })
        }),
      )
    },
  },
})

type Refused = NonNullable<(typeof ItemForUser.Type)["refusal"]>

const isRefused = (code: string): code is Refused["code"] =>
  buyingRefusals.some((one) => one === code)

const showRefusal = (code: Refused["code"], detail: string, missing: Amounts): Refused => ({
  code,
  detail,
  ...(Object.keys(missing).length > 0 && { missing }),
})

/** What lacks of a price, from the balances that a refusal names. */
const missingOf = (price: Amounts, balances: Amounts = {}): Amounts =>
  Object.fromEntries(Object.entries(balances).map(([key, has]) => [key, price[key]! - has]))

const showOffer = ({ bought, limitEndsAt, missing, refusal }: Offer) => ({
  bought,
  limitEndsAt: isoTimeOrNull(limitEndsAt),
  refusal:
    refusal === undefined
      ? null
      : showRefusal(refusal.code as Refused["code"], refusal.detail, missing),
})

export const newItem = (payload: typeof NewItem.Type, id: string) => {
  const { limit, name, price, reward = {}, stock = null } = payload
  return {
    id,
    ...newMembers(payload),
    name,
    price,
    reward: allParts(reward),
    limit: limit === undefined ? null : { per: "ever" as const, ...limit },
    stock,
  }
}

/**
 * The change of an item to the one that `payload` describes. Key and metadata stay, and so does the
 * status if `payload` has none.
 */
export const itemReplacement = (payload: typeof NewItem.Type): ItemChange => {
  const { reward, ...members } = replacementOf(newItem(payload, ""), payload)
  return { ...members, reward: wholeReward(reward) }
}

const itemChange = ({ reward, ...patch }: typeof ItemPatch.Type): ItemChange =>
  named({
    ...patchOf(patch),
    reward: reward === null ? wholeReward(allParts({})) : reward && partsChange(reward),
  })

const showItem = (item: Item, now: number) => showDefinition(item, now)

/** Adds to an item the units that are sold and left. */
const soldIn = (engine: Engine["Service"]) => (environment: string) =>
  Effect.map(
    engine.readCounts(environment),
    ({ sold }) =>
      (item: Item, shown: ReturnType<typeof showItem>) =>
        withSold(item, shown, sold),
  )

const withSold = (
  item: Item,
  shown: ReturnType<typeof showItem>,
  counts: ReadonlyMap<string, number>,
) => {
  const sold = counts.get(item.id) ?? 0
  return { ...shown, sold, left: leftOf(item, sold) }
}

/* Purchases. */

export const purchaseHandlers = (engine: Engine["Service"]): Handlers<typeof Purchases> => {
  const show = showPurchase(engine)
  return {
    create: {
      handle: ({ caller, idempotency, params, payload }) => {
        if (isKeptFromBuying(caller)) return Effect.fail(noScope)
        const { environment } = caller
        const item = definitionOf(engine.projectNow(environment).items, payload.item)
        if (isUnknownTo(caller, item, engine.timeIn(environment))) return Effect.fail(itemNotFound)
        const message = { userId: params.id, command: { kind: "purchase", ...payload } } as const
        const asked = engine.askUser(environment, message, idempotency)
        return Effect.map(asked, ({ replayed, reply }) => {
          const { duplicate, revoked } = showRepeat(reply)
          const repeat = { duplicate, ...(revoked && { revoked }) }
          return { body: { ...purchaseBody(reply), ...repeat }, replayed }
        })
      },
    },
    list: {
      handle: ({ caller: { environment }, params: { id }, query }) =>
        Effect.map(readPage(engine, environment, id, query, purchases, show), ({ end, items }) => ({
          body: { purchases: items, ...end },
        })),
    },
    get: {
      handle: ({ caller: { environment }, params: { id, purchaseId } }) =>
        Effect.gen(function* () {
          const found = yield* readByEitherId(engine, environment, id, "purchase", purchaseId)
          return { body: yield* show(yield* foundOr(found, purchaseNotFound)) }
        }),
    },
    revoke: {
      handle: (request) =>
        Effect.map(
          revoke(engine, request, "purchase", request.params.purchaseId),
          ({ replayed, reply }) => {
            const { id: purchaseId, itemId, key, name, price } = reply
            return { body: { purchaseId, itemId, key, name, price, ...undone(reply) }, replayed }
          },
        ),
    },
  }
}

const itemNotFound = definitionNotFound("item")

/** Whether the caller has a user token that may not spend. The pipeline has checked its user. */
const isKeptFromBuying = ({ kind, tokenScopes = [] }: Caller): boolean =>
  kind === "user" && !tokenScopes.includes("purchases")

const noScope = insufficientScope(
  scopesOf(Purchases.endpoints.create.annotations),
  "user",
  "A user token buys only if it was made with the scope purchases (`POST /v1/users/{id}/tokens`).",
)

/** The outcome of a purchase. */
const purchaseBody = (reply: PurchaseReply) => {
  const { itemId, key, name, price, purchaseId, userId } = reply
  return { purchaseId, userId, itemId, key, name, price, ...earnedMembers(reply) }
}

const purchases = {
  list: "purchases",
  kind: "purchase",
  lastsOf: ({ absorbed, lastPurchase }: UserState) => [
    lastPurchase,
    ...absorbed.flatMap((one) => one.lastPurchase ?? []),
  ],
} as const

const showPurchase =
  (engine: Engine["Service"]) =>
  (
    record: RecordOf<"purchase">,
  ): Effect.Effect<typeof PurchaseDetails.Type, LaurelError<StorageCode>> =>
    Effect.map(readRevocation(engine, record), (revocation) => {
      const { id = null } = record.cause
      const purchasedAt = isoTime(decidedAt(record))
      return {
        ...purchaseBody(replyOf(record) as PurchaseReply),
        id,
        purchasedAt,
        ...revocation,
      }
    })

const purchaseNotFound = laurelError(
  "purchase_not_found",
  "The user has no purchase with this id, or the journal no longer has it.",
)
