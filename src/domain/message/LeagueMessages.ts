/** The content of the messages about leagues, and their examples (`MessageData.ts`). */
import { Schema } from "effect"
import { windowKinds } from "../values/Calendar.ts"
import { factMembers } from "./FactMembers.ts"

const text = (description: string) => Schema.String.annotate({ description })
const count = (description: string) => Schema.Int.annotate({ description })
const time = (description: string) => Schema.String.annotate({ description, format: "date-time" })

/** `user` and `sequence`: the members of every message about a user, and of every message. */
export const leagueContents = <
  User extends Schema.Struct.Fields,
  Sequence extends Schema.Struct.Fields,
>(
  user: User,
  sequence: Sequence,
) => ({
  "league.joined": content({ ...user, ...factMembers["league.joined"] }),
  "league.promoted": content({ ...user, ...factMembers["league.promoted"] }),
  "league.stayed": content({ ...user, ...factMembers["league.stayed"] }),
  "league.demoted": content({ ...user, ...factMembers["league.demoted"] }),
  "league.closing": content({ ...user, ...factMembers["league.closing"] }),
  "league.disqualified": content({ ...user, ...factMembers["league.disqualified"] }),
  "league.window_closed": content({
    ...sequence,
    league: Schema.Struct({
      id: text("Id of the league."),
      key: text("Key of the league."),
    }).annotate({ description: "The league." }),
    window: Schema.Literals(windowKinds).annotate({ description: "Kind of window." }),
    startsAt: time("Start of the window."),
    endsAt: time("End of the window."),
    cohorts: count("Number of cohorts."),
    total: count("Number of users in them."),
  }),
})

const content = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct(fields).annotate({ description: "The content of the message." })

const inLeague = {
  leagueId: "lga_01a1fc1e64c07345932e273286b5ca30",
  key: "weekly-league",
  name: "Weekly league",
  division: { key: "silver", name: "Silver" },
  cohort: 12,
  startsAt: "2026-10-26T00:00:00.000Z",
  endsAt: "2026-11-02T00:00:00.000Z",
}

const settledEntries = <Of, Clock>(of: Of, clock: Clock) => ({
  "league.promoted": {
    description: "A window of a league closed, and the user moved up a division.",
    example: {
      ...of,
      cause: clock,
      ...inLeague,
      to: { key: "gold", name: "Gold" },
      score: 340,
      rank: 1,
      of: 30,
      rewards: [{ xp: 0, points: 100, badgeId: null }],
    },
  },
  "league.stayed": {
    description: "A window of a league closed, and the user stayed in the division.",
    example: {
      ...of,
      cause: clock,
      ...inLeague,
      to: { key: "silver", name: "Silver" },
      score: 120,
      rank: 12,
      of: 30,
      rewards: [],
    },
  },
  "league.demoted": {
    description: "A window of a league closed, and the user moved down a division.",
    example: {
      ...of,
      cause: clock,
      ...inLeague,
      to: { key: "bronze", name: "Bronze" },
      score: 5,
      rank: 30,
      of: 30,
      rewards: [],
    },
  },
})

/** `of` and `clock`: the members of every example about a user, and the cause that is no command. */
export const leagueEntries = <Of extends { readonly sequence: number }, Clock>(
  of: Of,
  clock: Clock,
) => ({
  "league.joined": {
    description:
      "A user joined a cohort of a league, with the first score of a day, week or month.",
    example: { ...of, ...inLeague },
  },
  ...settledEntries(of, clock),
  "league.closing": {
    description:
      "A window of a league in which the user has a place ends within `leagueDays` days (`reminders` of the project). Sent once for each window, at an hour of the user's day.",
    example: {
      ...of,
      cause: clock,
      ...inLeague,
      score: 15,
      rank: 28,
      of: 29,
      size: 30,
      outcome: "demoted" as const,
    },
  },
  "league.disqualified": {
    description: "A user was disqualified in a league, or is ranked there again.",
    example: {
      ...of,
      cause: { kind: "disqualify" as const, id: null },
      leagueId: inLeague.leagueId,
      key: inLeague.key,
      name: inLeague.name,
      disqualified: true,
    },
  },
  "league.window_closed": {
    description:
      "A day, week or month of a league closed. A message for each user with a score follows: promoted, stayed or demoted.",
    example: {
      sequence: of.sequence,
      league: { id: "lga_01a1fc1e64c07345932e273286b5ca30", key: "weekly-league" },
      window: "weekly" as const,
      startsAt: "2026-10-26T00:00:00.000Z",
      endsAt: "2026-11-02T00:00:00.000Z",
      cohorts: 48,
      total: 1_432,
    },
  },
})
