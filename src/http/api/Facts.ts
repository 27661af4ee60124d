/** The operation that lists the facts of all users, for copies of the data elsewhere. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { limits } from "../../Limits.ts"
import { ApiKey, cursorQuery, OpenTo, UserId, wholeNumber } from "./Common.ts"
import { exampleCursors } from "./examples/exampleIds.ts"
import { factsPage } from "./examples/userExamples.ts"
import { Fact } from "./History.ts"
import { Gone, readProblems } from "./Problems.ts"

const UserFact = Schema.Struct({
  userId: UserId.annotate({
    description: "The user. After a merge, facts from before keep the former id.",
  }),
  number: Schema.Int.annotate({
    description: "Number of the fact in its record: it and `sequence` name the fact.",
    examples: [0],
  }),
  fact: Fact,
}).annotate({ identifier: "UserFact", description: "A fact and its user." })

const ErasedUser = Schema.Struct({
  userId: UserId,
  sequence: Schema.Int.annotate({
    description: "Delete the facts of the user that have a lower sequence.",
    examples: [204_878],
  }),
}).annotate({ identifier: "ErasedUser", description: "A user who was erased." })

export const FactsPage = Schema.Struct({
  facts: Schema.Array(UserFact).annotate({
    description:
      "Oldest first. A page ends with a whole record, so it may have more facts than `limit`; it may have fewer, or none, although more follow.",
  }),
  erased: Schema.Array(ErasedUser).annotate({
    description:
      "Users whose erasure is among the records of this page. After about a day the server no longer knows whom it erased.",
    examples: [[]],
  }),
  hasMore: Schema.Boolean.annotate({
    description: "Whether there are further records now.",
    examples: [false],
  }),
  nextCursor: Schema.String.annotate({
    description:
      "The `cursor` of the next page, also on the last one: it reads what is decided later.",
    examples: [exampleCursors.facts],
  }),
}).annotate({
  identifier: "FactsPage",
  description: "Facts of all users, in the order of their decision.",
  examples: [factsPage],
})

export const Facts = HttpApiGroup.make("facts")
  .add(
    HttpApiEndpoint.get("list", "/v1/facts", {
      query: {
        limit: Schema.optionalKey(wholeNumber(1, limits.factsPageMax)),
        cursor: cursorQuery("facts"),
      },
      success: FactsPage,
      error: [...readProblems, Gone],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read the facts of all users",
          description: `Lists the facts of all histories of the environment in the order in which they were decided, from the oldest that the server keeps. Each fact is on one page, once, whatever happens meanwhile; imported events are there, too. Nothing of an erased user is. A page ends after ${limits.factsScanRecordsMax.toLocaleString("en-US")} records of the server's journal, which other projects share. The reply is 410 if the server no longer keeps what follows the cursor, or if it was restored to a time before it.`,
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Facts",
      description: "What happened to all users, for copies of the data such as a warehouse.",
    }),
  )
