/** The experiments of a user: what each decision entered, in the order of the decisions. */
import type { Experiment } from "../../../src/domain/project/Experiment.ts"
import { pays } from "./Definitions.ts"
import type { Entered, Log } from "./log.ts"
import { totalOf } from "./metrics.ts"
import { hashOf, type Membership, type Somebody } from "./segments.ts"

/** All that the user has entered. An undo takes nothing of it. */
export const enteredBy = (log: Log): ReadonlyArray<Entered & { readonly at: number }> =>
  log.flatMap((entry) =>
    "entered" in entry ? entry.entered.map((one) => ({ ...one, at: entry.at })) : [],
  )

/** What a contact enters. */
export const entering = (
  { log, now, place, userId }: Somebody,
  isIn: Membership["isIn"],
): ReadonlyArray<Entered> => {
  const known = enteredBy(log).map(({ experimentId }) => experimentId)
  const open = place.experiments.filter(
    (experiment) =>
      pays(experiment, now) && !known.includes(experiment.id) && isIn(experiment.segment),
  )
  return open.map((experiment) => {
    const metric = place.metrics.find(({ key }) => key === experiment.metric)
    const addsUp = metric !== undefined && !["max", "min", "last"].includes(metric.aggregate)
    return {
      experimentId: experiment.id,
      key: experiment.key,
      variant: drawn(experiment, userId),
      before: addsUp ? (totalOf(log, metric) ?? 0) : 0,
    }
  })
}

/** A ticket for each weight: the hash, as a share of all hashes, draws one. */
const drawn = ({ id, variants }: Experiment, userId: string): string => {
  const tickets = variants.flatMap(({ key, weight }) => Array.from({ length: weight }, () => key))
  const place = (hashOf(`${id}:${userId}`) * BigInt(tickets.length)) / 2n ** 32n
  return tickets[Number(place)]!
}
