/** What the API shows of the facts of shared goals, and the messages about them. */
import { Schema } from "effect"
import type { Gives } from "../project/Definition.ts"
import { unscaled } from "../project/Metric.ts"
import type { GoalRef, NamedPlace } from "../record/GoalFact.ts"
import type { Fact, FactOf, JournalRecord } from "../record/Record.ts"
import { isoTime } from "../values/isoTime.ts"

const text = (description: string, example: string) =>
  Schema.String.annotate({ description, examples: [example] })
const count = (example: number, description: string) =>
  Schema.Int.annotate({ description, examples: [example] })
const number = (example: number, description: string) =>
  Schema.Finite.annotate({ description, examples: [example] })
const time = (description: string, example: string) =>
  Schema.String.annotate({ description, format: "date-time", examples: [example] })

export const goalRef = {
  goalId: text("Id of the goal.", "gol_01a1fc1e64c07345932e273286b5ca30"),
  key: text("Key of the goal.", "thousand-kilometres"),
  name: text("Name of the goal.", "A thousand kilometres"),
  teamId: Schema.NullOr(Schema.String).annotate({
    description: "The team; null: the goal of everyone.",
    examples: ["falcons"],
  }),
  period: Schema.NullOr(
    Schema.Struct({
      startsAt: time("Its start.", "2026-10-25T23:00:00.000Z"),
      endsAt: time("Its end: the start of the next one.", "2026-11-01T23:00:00.000Z"),
    }).annotate({
      identifier: "GoalPeriod",
      description:
        "The day, week or month of a recurring goal, in the time zone that the project had at the time.",
    }),
  ).annotate({
    description: "The period; null: the goal does not recur.",
    examples: [{ startsAt: "2026-10-25T23:00:00.000Z", endsAt: "2026-11-01T23:00:00.000Z" }],
  }),
}

const reached = {
  ...goalRef,
  percent: count(50, "The share of the target that was reached: 25, 50, 75 or 100."),
  total: number(500.2, "What all contributed, in units of the currency or the metric."),
  target: count(1_000, "The target."),
  contributors: count(1_432, "Users who contributed."),
}

/** By kind of fact; `Reward` as elsewhere. */
export const goalMembers = <Reward>(reward: Reward) => ({
  "goal.contributed": {
    ...goalRef,
    amount: number(12, "What the user contributed; below 0: an undo took it back."),
    contribution: Schema.NullOr(Schema.Finite).annotate({
      description:
        "The user's contribution afterwards; null: it was for a team that the user has left.",
      examples: [240],
    }),
  },
  "goal.progressed": reached,
  "goal.completed": reached,
  "goal.rewarded": { ...goalRef, reward },
})

/** A goal to which a request contributed, as the message catalogue shows it. */
export const goalOutcome = {
  goalId: "gol_01a1fc1e64c07345932e273286b5ca30",
  key: "thousand-kilometres",
  name: "A thousand kilometres",
  teamId: null,
  period: null,
  contributed: 12,
  contribution: 240,
  reached: 100,
  reward: { xp: 0, points: 100, badgeId: null },
} as const

/** The goals to which a request contributed; `Reward` as elsewhere. */
export const goalOutcomes = <Reward extends Schema.Top>(reward: Reward) =>
  Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        ...goalRef,
        contributed: number(12, "What this request added; below 0: an undo took it back."),
        contribution: Schema.NullOr(Schema.Finite).annotate({
          description:
            "The user's contribution afterwards; null: it was for a team that the user has left.",
          examples: [240],
        }),
        reached: Schema.optionalKey(
          Schema.Literals([25, 50, 75, 100]).annotate({
            description:
              "The share of the target in percent that this request reached; 100: it completed the goal. Absent: none.",
            examples: [100],
          }),
        ),
        reward: Schema.optionalKey(reward),
      }).annotate({
        identifier: "GoalOutcome",
        description:
          "A goal to which a request contributed. `reward`: what each contributor with enough gets soon, as the goal is complete; absent: nothing.",
      }),
    ).annotate({
      description: "Shared goals to which this request contributed. Absent: none.",
      examples: [[goalOutcome]],
    }),
  )

/** What a reply says of goals. */
interface GoalOutcome {
  readonly goalId: string
  readonly key: string
  readonly name: string
  readonly teamId: string | null
  readonly period: { readonly startsAt: string; readonly endsAt: string } | null
  readonly contributed: number
  readonly contribution: number | null
  readonly reached?: 25 | 50 | 75 | 100
  readonly reward?: Gives
}

/** Whether a reply tells of the fact. */
export const isOfGoal = (fact: Fact): fact is FactOf<"goal.contributed"> | News =>
  fact.kind === "goal.contributed" ||
  fact.kind === "goal.progressed" ||
  fact.kind === "goal.completed"

/** With a further contribution, or with the share that the last one reached. */
export const withGoal = (
  before: ReadonlyArray<GoalOutcome> = [],
  fact: FactOf<"goal.contributed"> | News,
): ReadonlyArray<GoalOutcome> => {
  if (fact.kind === "goal.contributed") {
    const { amount: contributed, ...members } = contributionMembers(fact)
    return [...before, { ...members, contributed }]
  }
  const last = before.at(-1)
  if (last === undefined) return before
  const reached = fact.kind === "goal.completed" ? 100 : (fact.percent as 25 | 50 | 75)
  const reward = fact.kind === "goal.completed" ? fact.owed?.reward : undefined
  return [...before.slice(0, -1), { ...last, reached, ...(reward && { reward }) }]
}

type News = FactOf<"goal.progressed" | "goal.completed">

/** The goal, the team and the period of a fact. */
export const refOf = ({ bounds, goalId, key, name, teamId }: GoalRef & NamedPlace) => ({
  goalId,
  key,
  name,
  teamId: teamId ?? null,
  period:
    bounds === undefined ? null : { startsAt: isoTime(bounds[0]), endsAt: isoTime(bounds[1]) },
})

export const newsMembers = (fact: News) => {
  const { contributors, target, total } = fact
  const percent = fact.kind === "goal.completed" ? 100 : fact.percent
  return { ...refOf(fact), percent, total, target, contributors }
}

export const contributionMembers = (fact: FactOf<"goal.contributed">) => {
  const { amount, decimals = 0, mine = null } = fact
  return {
    ...refOf(fact),
    amount: unscaled(amount, decimals),
    contribution: unscaled(mine, decimals),
  }
}

export const rewardedMembers = (fact: FactOf<"goal.rewarded">) => ({
  ...refOf(fact),
  reward: fact.reward,
})

/** The goal of a payment. */
export const goalOf = ({ cause, sequence }: JournalRecord) => {
  if (cause.kind !== "payment" || cause.goal === undefined) {
    throw new Error(`Record ${sequence} pays for no goal`)
  }
  return refOf(cause.goal)
}

/* Messages. */

const userOrNull = Schema.NullOr(Schema.String).annotate({
  description: "The user whose contribution reached it; null: a change of the target did.",
})

const content = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct(fields).annotate({ description: "The content of the message." })

/** `user` and `sequence`: the members of every message about a user, and of every message. */
export const goalContents = <
  User extends Schema.Struct.Fields,
  Sequence extends Schema.Struct.Fields,
  Reward extends Schema.Top,
>(
  user: User,
  sequence: Sequence,
  reward: Reward,
) => {
  const members = goalMembers(reward)
  return {
    "goal.progressed": content({
      ...sequence,
      ...members["goal.progressed"],
      userId: userOrNull,
    }),
    "goal.completed": content({ ...sequence, ...members["goal.completed"], userId: userOrNull }),
    "goal.rewarded": content({ ...user, ...members["goal.rewarded"] }),
    "goal.rewards_paid": content({
      ...sequence,
      ...goalRef,
      rewarded: count(1_398, "Users who got the reward."),
    }),
  }
}

const goal = {
  goalId: "gol_01a1fc1e64c07345932e273286b5ca30",
  key: "thousand-kilometres",
  name: "A thousand kilometres",
  teamId: null,
  period: null,
} as const

/** `of`: the members of every example about a user. */
export const goalEntries = <Of extends { readonly sequence: number; readonly userId: string }>(
  of: Of,
) => ({
  "goal.progressed": {
    description:
      "The contributions to a goal reached 25, 50 or 75 % of the target: one message for the highest that a contribution reached, each once.",
    example: {
      sequence: of.sequence,
      ...goal,
      percent: 50,
      total: 500.2,
      target: 1_000,
      contributors: 1_432,
      userId: of.userId,
    },
  },
  "goal.completed": {
    description: "The contributions to a goal reached the target.",
    example: {
      sequence: of.sequence,
      ...goal,
      percent: 100,
      total: 1_000.4,
      target: 1_000,
      contributors: 2_871,
      userId: of.userId,
    },
  },
  "goal.rewarded": {
    description:
      "A contributor got the reward of a goal that is complete. What it pays has messages of its own.",
    example: {
      ...of,
      cause: { kind: "goal", id: null } as const,
      ...goal,
      reward: { xp: 0, points: 100, badgeId: null },
    },
  },
  "goal.rewards_paid": {
    description: "Every contributor of a goal that is complete has the reward.",
    example: { sequence: of.sequence, ...goal, rewarded: 2_790 },
  },
})
