/** What a leaderboard or a league ranks users by: a currency, a metric or a streak, and its key. */
import type { Draft } from "../../view/Editing.ts"
import { type Form, selectField, textField } from "../../view/Forms.ts"
import type { Content } from "../../view/Html.ts"

const labels = { currency: "a currency", metric: "a metric", streak: "a streak" } as const

type Kind = keyof typeof labels

interface Ranked {
  readonly score: { readonly [one in Kind]?: string }
}

const scoreOf = ({ score }: Ranked): readonly [kind: string, key: string] =>
  Object.entries(score)[0] ?? ["currency", ""]

/** The key of what it ranks by. */
export const rankedKey = (ranked: Ranked): string => scoreOf(ranked)[1]

export const rankedTexts = (ranked: Ranked): ReadonlyArray<readonly [string, string]> => {
  const [kind, key] = scoreOf(ranked)
  return [
    ["ranks", kind],
    ["by", key],
  ]
}

/** The typed score, unchecked. */
export const rankedOf = (form: Form) => ({ [form.text("ranks")]: form.text("by") })

/** `kinds`: what it may rank by; `hint`: whose key it takes. */
export const rankedFields = (
  { faults, form }: Draft,
  kinds: ReadonlyArray<Kind>,
  hint: Content,
): ReadonlyArray<Content> => [
  selectField({
    name: "ranks",
    label: "Ranks by",
    value: form.text("ranks"),
    options: kinds.map((kind) => [kind, labels[kind]] as const),
    faults,
  }),
  textField({
    name: "by",
    label: "Key",
    value: form.text("by"),
    hint,
    required: true,
    faults: faults?.map((fault) =>
      fault.pointer.startsWith("/score") ? { ...fault, pointer: "/by" } : fault,
    ),
  }),
]
