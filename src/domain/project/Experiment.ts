/**
 * Experiments: users are divided into variants, so that what differs between the variants can be
 * measured.
 *
 * - A user is exposed at the first contact while the experiment runs and the user is in its audience:
 *   the first event that is not imported, reward or start of a quest (`decide/Experiments.ts`). The
 *   fact of the exposure has the variant, and the user's state keeps it.
 * - The variant follows from a hash of the experiment's id and the user's id, over the weights at the
 *   time of the exposure. Experiments are independent of each other, since their ids differ.
 * - A user never changes sides: neither an edit of the weights, nor leaving the audience, nor the end
 *   of the experiment, nor an undo of the event changes the variant.
 * - Definitions differ between variants by segments: the condition `experiment` compares the variant.
 *   A user who was not exposed has none.
 * - The keys of the variants and the metric are fixed once the experiment is published, so that what
 *   segments name and what results compare stays the same.
 *
 * Cost: an event of an environment without running experiments compares two references. Otherwise it
 * looks up each running experiment in the user's state, and asks for the audience of those that the
 * user has not entered.
 */
import { murmur3 } from "../values/murmur3.ts"
import { paysAt, type Targeted } from "./Definition.ts"

export interface Variant {
  readonly key: string
  /** A whole number, at least 1. */
  readonly weight: number
}

/** Its segment is its audience. */
export interface Experiment extends Targeted {
  readonly name: string
  /** The first is the control, with which results compare the others. */
  readonly variants: ReadonlyArray<Variant>
  /** The key of the metric that it is meant to change; null: none is named. */
  readonly metric: string | null
  /** When the weights were last changed after publication; absent: never. */
  readonly weightsChangedAt?: number
}

/**
 * That a user was exposed. `at`: epoch milliseconds. `mixed`: a user with another variant was merged
 * into this one, so results leave the user out. `before`: as in the fact (`ExperimentFact.ts`).
 */
export interface Exposure {
  readonly variant: string
  readonly at: number
  readonly mixed?: true
  readonly before?: number
}

/**
 * The variant of a user: the place of the hash of `<experiment id>:<user id>` among all hashes
 * falls into one of the parts that the weights make, in their order.
 */
export const variantOf = (
  { id, variants }: Pick<Experiment, "id" | "variants">,
  userId: string,
): string => {
  const total = variants.reduce((sum, { weight }) => sum + weight, 0)
  const place = (murmur3(`${id}:${userId}`) / 2 ** 32) * total
  let end = 0
  for (const { key, weight } of variants) {
    end += weight
    if (place < end) return key
  }
  return variants.at(-1)!.key
}

/** The published experiments of a set of definitions, which is immutable. */
const published = new WeakMap<ReadonlyMap<string, Experiment>, ReadonlyArray<Experiment>>()

const none: ReadonlyArray<Experiment> = []

/** The experiments that run at `at`. */
export const runningExperiments = (
  experiments: ReadonlyMap<string, Experiment>,
  at: number,
): ReadonlyArray<Experiment> => {
  if (experiments.size === 0) return none
  let found = published.get(experiments)
  if (found === undefined) {
    found = [...experiments.values()].filter(({ set }) => set === "published")
    published.set(experiments, found)
  }
  return found.length === 0 ? none : found.filter((experiment) => paysAt(experiment, at))
}
