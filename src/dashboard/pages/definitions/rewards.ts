/** The reward of a rule or a quest: its fields, and what they say. */
import { Effect } from "effect"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import { limits } from "../../../Limits.ts"
import type { PlaceVisit } from "../../request/Route.ts"
import type { Draft } from "../../view/Editing.ts"
import { type Form, group, numberField, selectField, textField } from "../../view/Forms.ts"
import type { Html } from "../../view/Html.ts"

/** Badges that a definition may give; `undefined` where there are too many for a list. */
export type BadgeChoices = ReadonlyArray<readonly [id: string, name: string]> | undefined

export const badgeChoices = (visit: PlaceVisit): Effect.Effect<BadgeChoices, LaurelError> =>
  Effect.map(
    visit.ask("badges.list", { query: { limit: String(limits.pageMax) } }),
    ({ badges, hasMore }) => (hasMore ? undefined : badges.map(({ id, name }) => [id, name])),
  )

interface Reward {
  readonly xp: number
  readonly points: number
  readonly badgeId: string | null
}

export const rewardTexts = ({ badgeId, points, xp }: Reward) =>
  [
    ["reward.xp", String(xp)],
    ["reward.points", String(points)],
    ["reward.badgeId", badgeId ?? ""],
  ] as const

export const rewardNames = ["reward", "reward.xp", "reward.points", "reward.badgeId"]

/** `null` where nothing is typed. */
export const rewardOf = (form: Form) => ({
  xp: form.number("reward.xp") ?? null,
  points: form.number("reward.points") ?? null,
  badgeId: form.optional("reward.badgeId") ?? null,
})

export const rewardFields = ({ faults, form }: Draft, badges: BadgeChoices): Html => {
  const given = form.text("reward.badgeId")
  const field = { name: "reward.badgeId", label: "Badge", value: given, faults }
  return group({ legend: "Reward", name: "reward", faults }, [
    numberField({ name: "reward.xp", label: "Xp", value: form.text("reward.xp"), faults }),
    numberField({
      name: "reward.points",
      label: "Points",
      value: form.text("reward.points"),
      hint: "A balance separate from xp.",
      faults,
    }),
    badges === undefined
      ? textField({ ...field, hint: "The id of a badge." })
      : selectField({
          ...field,
          options: [
            ["", "none"],
            ...badges.map(([id, name]) => [id, name] as const),
            ...(given === "" || badges.some(([id]) => id === given)
              ? []
              : [[given, given] as const]),
          ],
        }),
  ])
}

/** A reward in words, for lists. */
export const rewardWords = ({ badgeId, points, xp }: Reward, badges: BadgeChoices): string => {
  const name = badges?.find(([id]) => id === badgeId)?.[1] ?? badgeId
  const parts = [
    xp > 0 && `${xp} xp`,
    points > 0 && `${points} points`,
    badgeId !== null && `badge ${name}`,
  ].filter((part) => part !== false)
  return parts.length === 0 ? "nothing" : parts.join(", ")
}
