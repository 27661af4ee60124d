/** Operations on teams and their members. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { definitionKeyPattern } from "../../domain/project/DefinitionKey.ts"
import { limits } from "../../Limits.ts"
import { AvatarUrl, customAttributes } from "./Attributes.ts"
import {
  ApiKey,
  callerId,
  idempotencyHeaders,
  OpenTo,
  pageEndFields,
  pageQuery,
  pattern,
  Time,
  text,
  UserId,
  versionFields,
} from "./Common.ts"
import { changeHeaders, readHeaders } from "./EntityTags.ts"
import { teamId } from "./examples/exampleIds.ts"
import {
  ownTeam,
  team,
  teamMember,
  teamMemberPage,
  teamPage,
  teamsOfUser,
} from "./examples/teamExamples.ts"
import {
  BodyTooLarge,
  bodyProblems,
  changeProblems,
  KeyInProgress,
  keyedProblems,
  MemberNotFound,
  readProblems,
  TeamConflict,
  TeamNotFound,
  UserNotFound,
} from "./Problems.ts"

export const TeamId = callerId.annotate({
  description: "Your id of the team, in the form of the id of a user.",
  examples: [teamId],
})

const kindWords =
  "The kind of the team, such as `club` or `class`. A user is in at most one team of each kind."

/** The kind of a team. */
export const TeamKind = pattern(
  definitionKeyPattern,
  "1 to 64 small letters, digits, dashes and underscores, beginning with a letter",
).annotate({ description: kindWords, examples: [team.kind] })

const Name = text(1, limits.titleCharactersMax).annotate({
  description: "Name for people.",
  examples: [team.name],
})

const fields = {
  id: Schema.String.annotate({ description: "Your id of the team.", examples: [teamId] }),
  kind: Schema.String.annotate({ description: kindWords, examples: [team.kind] }),
  name: Schema.String.annotate({ description: "Name for people.", examples: [team.name] }),
}

export const TeamChange = Schema.Struct({
  kind: Schema.optionalKey(TeamKind),
  name: Schema.optionalKey(Name),
  attributes: Schema.optionalKey(customAttributes("team", team.attributes)),
}).annotate({
  identifier: "TeamChange",
  description: "A team to create, or a partial change of one.",
  examples: [{ kind: "club", name: "Falcons", attributes: team.attributes }],
})

export const Team = Schema.Struct({
  ...fields,
  attributes: Schema.Record(
    Schema.String,
    Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]),
  ).annotate({ description: "The team's custom attributes.", examples: [team.attributes] }),
  disqualifiedOn: Schema.optionalKey(
    Schema.Array(Schema.String).annotate({
      description:
        "The keys of the leaderboards on which the team is disqualified; absent: there is none.",
      examples: [["club-cup"]],
    }),
  ),
  ...versionFields,
}).annotate({
  identifier: "Team",
  description: "A team: users who belong together, such as a club, a class or a company.",
  examples: [team],
})

export const TeamPage = Schema.Struct({
  teams: Schema.Array(Team).annotate({ description: "In the order of their ids." }),
  ...pageEndFields("teams"),
}).annotate({
  identifier: "TeamPage",
  description: "A page of the teams.",
  examples: [teamPage],
})

/** A team of a user. */
export const OwnTeam = Schema.Struct({
  ...fields,
  joinedAt: Time.annotate({ description: "Since when the user has been a member." }),
}).annotate({
  identifier: "OwnTeam",
  description: "A team that a user is in.",
  examples: [ownTeam],
})

export const UserTeams = Schema.Struct({
  userId: UserId,
  teams: Schema.Array(OwnTeam).annotate({ description: "All teams of the user." }),
}).annotate({
  identifier: "UserTeams",
  description: "The teams of a user.",
  examples: [teamsOfUser],
})

export const TeamMember = Schema.Struct({
  userId: UserId,
  displayName: Schema.NullOr(Schema.String).annotate({
    description: "Name shown on leaderboards; null: none.",
    examples: ["Ada"],
  }),
  avatarUrl: AvatarUrl("user"),
  joinedAt: Time.annotate({ description: "Since when the user has been a member." }),
}).annotate({
  identifier: "TeamMember",
  description: "A member of a team.",
  examples: [teamMember],
})

export const TeamMemberPage = Schema.Struct({
  members: Schema.Array(TeamMember).annotate({ description: "In the order of their ids." }),
  ...pageEndFields("teamMembers"),
}).annotate({
  identifier: "TeamMemberPage",
  description: "A page of the members of a team.",
  examples: [teamMemberPage],
})

const params = { id: TeamId }
const memberParams = { id: TeamId, userId: UserId }

export const Teams = HttpApiGroup.make("teams")
  .add(
    HttpApiEndpoint.get("list", "/v1/teams", {
      query: { ...pageQuery("teams"), kind: Schema.optionalKey(TeamKind) },
      success: TeamPage,
      error: readProblems,
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "List teams",
          description:
            "Lists teams in the order of their ids, by code points: all, or those of one kind.",
        }),
      ),
    HttpApiEndpoint.get("get", "/v1/teams/:id", {
      params,
      headers: readHeaders,
      success: Team,
      error: [...readProblems, TeamNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({ summary: "Read a team", description: "Returns a team by its id." }),
      ),
    HttpApiEndpoint.put("put", "/v1/teams/:id", {
      params,
      headers: changeHeaders,
      payload: TeamChange,
      success: Team,
      error: [...readProblems, ...bodyProblems, ...changeProblems, TeamConflict, TeamNotFound],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create or change a team",
          description: `Changes the members that the body names; creates a new team, which needs \`kind\` and \`name\`. The kind of a team never changes. With \`If-Match\` it changes no other version, and creates nothing. An environment has at most ${limits.teamsMax.toLocaleString("en")} teams of at most ${limits.teamKindsMax} kinds. A repeat with the same \`Idempotency-Key\` changes nothing, and shows the team as it is now; 404 means that it was deleted meanwhile.`,
        }),
      ),
    HttpApiEndpoint.delete("delete", "/v1/teams/:id", {
      params,
      headers: changeHeaders,
      success: HttpApiSchema.NoContent,
      error: [...readProblems, ...changeProblems, TeamNotFound, KeyInProgress, BodyTooLarge],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete a team",
          description:
            "Deletes the team and ends all memberships at once, with one message `team.deleted` and no `team.left`. A new team with the id begins without members.",
        }),
      ),
    HttpApiEndpoint.get("members", "/v1/teams/:id/members", {
      params,
      query: pageQuery("teamMembers"),
      success: TeamMemberPage,
      error: [...readProblems, TeamNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "List the members of a team",
          description: "Lists the members in the order of their ids, by code points.",
        }),
      ),
    HttpApiEndpoint.put("join", "/v1/teams/:id/members/:userId", {
      params: memberParams,
      headers: idempotencyHeaders,
      success: UserTeams,
      error: [...readProblems, ...keyedProblems, TeamNotFound, UserNotFound, BodyTooLarge],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Add a member to a team",
          description:
            "Makes the user a member, creates a new user, and returns the user's teams. The user leaves the former team of this kind. A member stays one, since the same time. It cannot be undone: add the user to the former team again.",
        }),
      ),
    HttpApiEndpoint.delete("leave", "/v1/teams/:id/members/:userId", {
      params: memberParams,
      headers: idempotencyHeaders,
      success: HttpApiSchema.NoContent,
      error: [...readProblems, ...keyedProblems, MemberNotFound, BodyTooLarge],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Remove a member from a team",
          description: "Ends the membership. It cannot be undone: add the user again.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Teams",
      description:
        "Teams of users, such as clubs, classes or companies. A user is in at most one team of each kind, and sees its teams in `GET /v1/users/{id}`. Segments can ask for a team.",
    }),
  )
