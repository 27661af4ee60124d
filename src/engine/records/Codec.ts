/**
 * The bodies of records and of actors' states: JSON, readable with any tool, within the versioned
 * and checksummed values of the storage. A user's state has a form of its own (`UserCodec.ts`).
 */
import type { Account, Invitation, Session } from "../../domain/accounts/Account.ts"
import type { Board } from "../../domain/project/BoardDefinition.ts"
import type { Boost } from "../../domain/project/Boost.ts"
import type { Currency } from "../../domain/project/Currency.ts"
import type { Badge, Quest, Rule } from "../../domain/project/Definition.ts"
import type { ApiKey, DirectoryState, Project } from "../../domain/project/Directory.ts"
import type { Experiment } from "../../domain/project/Experiment.ts"
import type { Goal } from "../../domain/project/Goal.ts"
import type { Item } from "../../domain/project/Item.ts"
import type { League } from "../../domain/project/League.ts"
import type { Metric } from "../../domain/project/Metric.ts"
import type { ProjectState, Webhook } from "../../domain/project/Project.ts"
import type { Segment } from "../../domain/project/Segment.ts"
import type { Source } from "../../domain/project/Source.ts"
import type { Streak } from "../../domain/project/StreakDefinition.ts"
import { noTeams } from "../../domain/project/Team.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { asBuffer } from "../../storage/Keys.ts"

/** The journal's text of a record. */
export const encodeRecord = (record: JournalRecord): string => JSON.stringify(record)

export const decodeRecord = (body: Uint8Array): JournalRecord => JSON.parse(textOf(body))

const textOf = (bytes: Uint8Array): string => asBuffer(bytes).toString("utf8")

const byId = <A extends { readonly id: string }>(things: ReadonlyArray<A>): Map<string, A> =>
  new Map(things.map((thing) => [thing.id, thing]))

/**
 * The texts of definitions that were written. Of thousands, few have changed by the next snapshot.
 */
const definitionTexts = new WeakMap<object, string>()

const definitionsText = (definitions: ReadonlyMap<string, object>): string => {
  const texts: Array<string> = []
  for (const definition of definitions.values()) {
    let text = definitionTexts.get(definition)
    if (text === undefined) {
      text = JSON.stringify(definition)
      definitionTexts.set(definition, text)
    }
    texts.push(text)
  }
  return `[${texts.join(",")}]`
}

export const encodeProject = ({
  badges,
  boosts,
  currencies,
  experiments,
  goals,
  items,
  leaderboards,
  leagues,
  metrics,
  quests,
  rules,
  segments,
  sources,
  streaks,
  ...rest
}: ProjectState): string => {
  const { backfills, boardCloses, leagueCloses, payouts, sourceSecrets, teams, webhooks } = rest
  const others = {
    ...rest,
    webhooks: [...webhooks.values()],
    sourceSecrets: [...sourceSecrets],
    // `TeamBytes.ts` has the teams themselves.
    teams: { next: teams.next },
    backfills: [...backfills],
    boardCloses: [...boardCloses],
    leagueCloses: [...leagueCloses],
    payouts: [...payouts],
  }
  const definitions = Object.entries({
    quests,
    rules,
    badges,
    boosts,
    currencies,
    metrics,
    segments,
    streaks,
    leaderboards,
    experiments,
    leagues,
    items,
    goals,
    sources,
  })
  const texts = definitions.map(([name, all]) => `"${name}":${definitionsText(all)}`)
  return `${JSON.stringify(others).slice(0, -1)},${texts.join(",")}}`
}

/** The project without its teams (`withTeamsOf`). */
export const decodeProject = (value: Uint8Array): ProjectState => {
  const stored = JSON.parse(textOf(value))
  return {
    ...stored,
    quests: byId<Quest>(stored.quests),
    rules: byId<Rule>(stored.rules),
    badges: byId<Badge>(stored.badges),
    boosts: byId<Boost>(stored.boosts),
    currencies: byId<Currency>(stored.currencies),
    segments: byId<Segment>(stored.segments),
    metrics: byId<Metric>(stored.metrics),
    streaks: byId<Streak>(stored.streaks),
    leaderboards: byId<Board>(stored.leaderboards),
    experiments: byId<Experiment>(stored.experiments),
    leagues: byId<League>(stored.leagues),
    items: byId<Item>(stored.items),
    goals: byId<Goal>(stored.goals),
    sources: byId<Source>(stored.sources),
    sourceSecrets: new Map(stored.sourceSecrets),
    webhooks: byId<Webhook>(stored.webhooks),
    teams: { ...noTeams, next: stored.teams.next },
    backfills: new Map(stored.backfills),
    boardCloses: new Map(stored.boardCloses),
    leagueCloses: new Map(stored.leagueCloses),
    payouts: new Map(stored.payouts),
  }
}

export const encodeDirectory = (directory: DirectoryState): string =>
  JSON.stringify({
    ...directory,
    projects: [...directory.projects.values()],
    keys: [...directory.keys.values()],
    accounts: [...directory.accounts.values()],
    sessions: [...directory.sessions.values()],
    invitations: [...directory.invitations.values()],
  })

export const decodeDirectory = (value: Uint8Array): DirectoryState => {
  // An export may lack lists that are empty.
  const { accounts = [], invitations = [], sessions = [], ...stored } = JSON.parse(textOf(value))
  return {
    ...stored,
    projects: byId<Project>(stored.projects),
    keys: byId<ApiKey>(stored.keys),
    accounts: byId<Account>(accounts),
    sessions: byId<Session>(sessions),
    invitations: byId<Invitation>(invitations),
  }
}
