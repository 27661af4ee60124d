/** What reads of a leaderboard take and return. */
import { Schema } from "effect"
import { Reward } from "../../domain/message/FactMembers.ts"
import { boardWindows } from "../../domain/project/BoardDefinition.ts"
import { limits } from "../../Limits.ts"
import { AvatarUrl } from "./Attributes.ts"
import { list, oneOf, pageEndFields, text, UserId } from "./Common.ts"
import {
  boardEntries,
  boardEntry,
  boardGroups,
  boardLookup,
  boardStats,
  teamBoardKey,
  teamEntries,
  teamEntry,
} from "./examples/boardExamples.ts"
import { teamId } from "./examples/exampleIds.ts"
import { BoardAt, boardPageFields, boardTotal, PreviousRank, windowShown } from "./Leaderboard.ts"
import { TeamId } from "./Teams.ts"

const Kind = oneOf(boardWindows)

const Rank = Schema.Int.annotate({
  description: "By `ties` of the leaderboard, equal scores share a rank or not.",
  examples: [1],
})

const ScoreShown = Schema.Finite.annotate({
  description:
    "What the user earned of the currency or added to the metric in the window, the value of the metric, or the length of the streak. A metric with `decimals` gives a fraction.",
  examples: [340],
})

export const BoardEntry = Schema.Struct({
  rank: Rank,
  userId: UserId,
  displayName: Schema.NullOr(Schema.String).annotate({
    description: "The user's current display name; null: none.",
    examples: ["Ada"],
  }),
  avatarUrl: AvatarUrl("user"),
  attributes: Schema.Record(
    Schema.String,
    Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]),
  ).annotate({
    description: "The attributes that the leaderboard names, of those that the user has.",
    examples: [boardEntry.attributes],
  }),
  score: ScoreShown,
  previousRank: PreviousRank,
  group: Schema.optionalKey(
    Schema.NullOr(Schema.String).annotate({
      description:
        "The user's group: in a closed window, the group at the close. Null: none. Absent: the leaderboard has no `groupBy`.",
      examples: [boardEntry.group],
    }),
  ),
  groupRank: Schema.optionalKey(
    Schema.NullOr(Schema.Int).annotate({
      description: "The rank in the group, by `ties` too. Null: no group.",
      examples: [boardEntry.groupRank],
    }),
  ),
  prizes: Schema.Array(Reward).annotate({
    description:
      "What the user has won in a closed window, by the rank when it closed. Empty: nothing, or the window is open.",
    examples: [boardEntry.prizes],
  }),
}).annotate({
  identifier: "BoardEntry",
  description: "A user's rank and score.",
  examples: [boardEntry],
})

/** The members of each read of a window. */
const windowRead = {
  leaderboard: Schema.String.annotate({
    description: "The key of the leaderboard.",
    examples: ["gem-hunters"],
  }),
  window: windowShown(Kind.annotate({ description: "Its kind.", examples: ["weekly"] })),
}

const closed = Schema.Boolean.annotate({
  description: "Whether the window takes no more scores: its ranks are final.",
  examples: [true],
})

const windowState = {
  filling: Schema.Boolean.annotate({
    description:
      "Whether the leaderboard was just published and lists users from their states, so that some are still missing: for seconds with a million users.",
    examples: [false],
  }),
  closed,
  paying: Schema.Boolean.annotate({
    description: "Whether prizes of the closed window are still being paid.",
    examples: [false],
  }),
}

export const BoardEntries = Schema.Struct({
  ...windowRead,
  entries: Schema.Array(BoardEntry).annotate({ description: "In the order of ranks." }),
  ...boardPageFields(BoardEntry),
  ...windowState,
}).annotate({
  identifier: "BoardEntries",
  description: "A page of a leaderboard.",
  examples: [boardEntries],
})

export const TeamBoardEntry = Schema.Struct({
  rank: Rank,
  team: Schema.Struct({
    id: TeamId,
    name: Schema.String.annotate({ description: "Name for people.", examples: ["Falcons"] }),
  }).annotate({ description: "The team." }),
  avatarUrl: AvatarUrl("team"),
  attributes: Schema.Record(
    Schema.String,
    Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]),
  ).annotate({
    description: "The attributes that the leaderboard names, of those that the team has.",
    examples: [teamEntry.attributes],
  }),
  score: Schema.Finite.annotate({
    description: "What users scored in the window while they were members of the team.",
    examples: [teamEntry.score],
  }),
  previousRank: PreviousRank,
  prizes: Schema.Array(Reward).annotate({
    description:
      "What each member of the team who scored for it has won in a closed window. Empty: nothing, or the window is open.",
    examples: [teamEntry.prizes],
  }),
}).annotate({
  identifier: "TeamBoardEntry",
  description: "A team's rank and score.",
  examples: [teamEntry],
})

const { me: teamMe, ...teamPageFields } = boardPageFields(TeamBoardEntry)

export const TeamBoardEntries = Schema.Struct({
  ...windowRead,
  entries: Schema.Array(TeamBoardEntry).annotate({ description: "In the order of ranks." }),
  ...teamPageFields,
  total: Schema.Int.annotate({ description: "Number of teams listed.", examples: [1] }),
  me: teamMe.annotate({
    description: "With `around`: the entry of that team, on this page or not; null: not listed.",
  }),
  closed,
  paying: windowState.paying,
}).annotate({
  identifier: "TeamBoardEntries",
  description: "A page of a leaderboard that ranks teams.",
  examples: [teamEntries],
})

export const windowQuery = {
  window: Schema.optionalKey(
    Kind.annotate({
      description:
        "One of the leaderboard's windows; `days`: the one of a fixed number of days. Default: the first of them.",
      examples: ["weekly"],
    }),
  ),
  at: Schema.optionalKey(BoardAt),
}

export const groupQuery = {
  group: Schema.optionalKey(
    text(1, limits.attributeTextCharactersMax).annotate({
      description: "Only the users of this group, on a leaderboard with `groupBy`.",
      examples: ["Berlin"],
    }),
  ),
}

export const BoardLookupRequest = Schema.Struct({
  users: list(UserId, 1, limits.boardLookupMax).annotate({
    description: "The ids of the users, such as friends; each counts once.",
    examples: [["user-42", "user-7"]],
  }),
  ...windowQuery,
}).annotate({
  identifier: "BoardLookupRequest",
  description: "The users to look up.",
  examples: [{ users: ["user-42", "user-7"], window: "weekly" }],
})

const FoundEntry = Schema.Struct({
  userId: UserId,
  rankAmong: Schema.NullOr(Schema.Int).annotate({
    description:
      "The rank among the listed users of this look-up, by `ties` too. Null: not listed.",
    examples: [1],
  }),
  entry: Schema.NullOr(BoardEntry).annotate({
    description: "The entry on the whole leaderboard; null: not listed.",
  }),
  disqualified: Schema.Boolean.annotate({
    description: "Whether the user is disqualified on the leaderboard.",
    examples: [false],
  }),
}).annotate({ identifier: "FoundEntry", description: "The place of a user who was looked up." })

export const BoardLookup = Schema.Struct({
  ...windowRead,
  users: Schema.Array(FoundEntry).annotate({
    description:
      "In the order of ranks; those who are not listed come last. Who was merged into another user stands under the id of that user.",
  }),
  total: boardTotal,
  ...windowState,
}).annotate({
  identifier: "BoardLookup",
  description: "The places of users on a leaderboard.",
  examples: [boardLookup],
})

export const BoardStats = Schema.Struct({
  ...windowRead,
  participants: Schema.Int.annotate({
    description:
      "Number of users listed: those who have a score in the window and are neither hidden nor disqualified.",
    examples: [1432],
  }),
  distribution: Schema.Array(
    Schema.Struct({
      percent: Schema.Finite.annotate({ description: "The share of the users.", examples: [10] }),
      score: Schema.Finite.annotate({
        description: "The last score within this share, from the first rank on.",
        examples: [120],
      }),
    }).annotate({ identifier: "ScoreAt", description: "The score at a share of the users." }),
  ).annotate({
    description:
      "The scores at 0, 1, 5, 10, 25, 50, 75, 90 and 100 percent of the users: 0 is the first entry, 100 the last one. Empty: nobody is listed.",
  }),
  ...windowState,
}).annotate({
  identifier: "BoardStats",
  description: "How many users a leaderboard lists, and how their scores are distributed.",
  examples: [boardStats],
})

export const BoardGroups = Schema.Struct({
  ...windowRead,
  groups: Schema.Array(
    Schema.Struct({
      group: Schema.String.annotate({
        description: "The name: the value of the attribute, as text.",
        examples: [boardEntry.group],
      }),
      total: Schema.Int.annotate({
        description: "Number of users of the group that the window lists.",
        examples: [12],
      }),
      leader: BoardEntry,
    }).annotate({
      identifier: "BoardGroup",
      description: "A group of users on a leaderboard. `leader` is the first of them.",
      examples: [boardGroups.groups[0]],
    }),
  ).annotate({ description: "The groups with listed users, by name." }),
  ...pageEndFields("boardGroups"),
  ...windowState,
}).annotate({
  identifier: "BoardGroups",
  description: "A page of the groups of a leaderboard.",
  examples: [boardGroups],
})

export const DisqualifyRequest = Schema.Struct({
  disqualified: Schema.Boolean.annotate({
    description: "`true`: the leaderboard does not list the user or the team. `false`: it does.",
    examples: [true],
  }),
}).annotate({
  identifier: "DisqualifyRequest",
  description: "Whether the user or the team is disqualified.",
  examples: [{ disqualified: true }],
})

export const Disqualified = Schema.Struct({
  leaderboard: windowRead.leaderboard,
  userId: UserId,
  disqualified: Schema.Boolean.annotate({
    description: "Whether the leaderboard does not list the user.",
    examples: [true],
  }),
}).annotate({
  identifier: "Disqualified",
  description: "A user on a leaderboard.",
  examples: [{ leaderboard: "gem-hunters", userId: "user-42", disqualified: true }],
})

export const DisqualifiedTeam = Schema.Struct({
  leaderboard: windowRead.leaderboard,
  teamId: TeamId,
  disqualified: Schema.Boolean.annotate({
    description: "Whether the leaderboard does not list the team.",
    examples: [true],
  }),
}).annotate({
  identifier: "DisqualifiedTeam",
  description: "A team on a leaderboard.",
  examples: [{ leaderboard: teamBoardKey, teamId, disqualified: true }],
})
