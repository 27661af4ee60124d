/** One user and the definitions around it: commands are decided and applied as the actor does it. */

import { Result } from "effect"
import { decideUser } from "../../../src/domain/decide/Decide.ts"
import { type LeagueSeats, noSeats, settleLeagues } from "../../../src/domain/decide/Leagues.ts"
import { type ReplyTo, replyOf } from "../../../src/domain/message/UserReply.ts"
import type { Board } from "../../../src/domain/project/BoardDefinition.ts"
import type { Amounts, Currency } from "../../../src/domain/project/Currency.ts"
import type { Badge, Quest, Rule } from "../../../src/domain/project/Definition.ts"
import type { Goal } from "../../../src/domain/project/Goal.ts"
import type { Item } from "../../../src/domain/project/Item.ts"
import { type League, termsOf } from "../../../src/domain/project/League.ts"
import type { Metric } from "../../../src/domain/project/Metric.ts"
import {
  defaultSettings,
  emptyProject,
  type ProjectSettings,
  type ProjectState,
} from "../../../src/domain/project/Project.ts"
import type { Segment } from "../../../src/domain/project/Segment.ts"
import type { Streak } from "../../../src/domain/project/StreakDefinition.ts"
import { applyUser } from "../../../src/domain/record/applyUser.ts"
import type { Absorb } from "../../../src/domain/record/MergeRecord.ts"
import type { Purchase } from "../../../src/domain/record/Purchase.ts"
import type {
  Fact,
  GrantedReward,
  JournalRecord,
  Revocation,
  Spending,
  TrackedEvent,
  UserCommand,
} from "../../../src/domain/record/Record.ts"
import type { Profile, UserState } from "../../../src/domain/user/User.ts"
import type { LaurelError } from "../../../src/domain/values/Errors.ts"
import { GoalTotals } from "../../../src/engine/actor/GoalTotals.ts"
import {
  badgeWith,
  boardWith,
  currencyWith,
  goalWith,
  itemWith,
  leagueWith,
  metricWith,
  questWith,
  ruleWith,
  segmentWith,
  streakWith,
  withFacts,
} from "../definitions.ts"
import { decideRecalling } from "../recalled.ts"

const subject = { actor: "user", environment: "p:sandbox", userId: "u1" } as const

export interface Done<Command extends UserCommand> {
  readonly record: JournalRecord
  readonly facts: ReadonlyArray<Fact>
  readonly reply: ReplyTo<Command>
}

export class World {
  /** The units of items that other users bought, by id. */
  readonly sold = new Map<string, number>()
  /** The totals of goals. */
  goals = new GoalTotals()
  now: number
  project: ProjectState = emptyProject
  user: UserState | undefined
  readonly records: Array<JournalRecord> = []
  /** The rank of the user in closed windows, among so many. */
  ranked: ReturnType<LeagueSeats["rankOf"]> = { rank: 1, of: 1 }
  /** The rank of the user in open windows. */
  standing: ReturnType<LeagueSeats["standing"]> = { rank: 1, of: 1, size: 1 }
  #sequence = 0

  constructor(now = "2026-11-04T12:00:00Z") {
    this.now = Date.parse(now)
  }

  define(...facts: ReadonlyArray<Fact>): void {
    this.project = withFacts(this.project, facts, ++this.#sequence, this.now)
  }

  settings(settings: Partial<ProjectSettings>): void {
    const merged = { ...defaultSettings, ...this.project.settings, ...settings }
    this.define({ kind: "project.updated", settings: merged })
  }

  rule(rule: Parameters<typeof ruleWith>[0]): Rule {
    const made = ruleWith(rule)
    this.define({ kind: "rule.created", rule: made })
    return made
  }

  quest(quest: Parameters<typeof questWith>[0]): Quest {
    const made = questWith(quest)
    this.define({ kind: "quest.updated", quest: made })
    return made
  }

  badge(badge: Partial<Badge>): Badge {
    const made = badgeWith(badge)
    this.define({ kind: "badge.updated", badge: made })
    return made
  }

  currency(currency: Partial<Currency>): Currency {
    const made = currencyWith(currency)
    this.define({ kind: "currency.updated", currency: made })
    return made
  }

  goal(goal: Partial<Goal> = {}): Goal {
    const made = goalWith(goal)
    const known = this.project.goals.has(made.id)
    this.define({ kind: known ? "goal.updated" : "goal.created", goal: made })
    return made
  }

  board(board: Partial<Board> = {}): Board {
    const made = boardWith(board)
    const known = this.project.leaderboards.has(made.id)
    this.define({ kind: known ? "leaderboard.updated" : "leaderboard.created", leaderboard: made })
    return made
  }

  item(item: Partial<Item>): Item {
    const made = itemWith(item)
    const known = this.project.items.has(made.id)
    this.define({ kind: known ? "item.updated" : "item.created", item: made })
    return made
  }

  segment(segment: Partial<Segment>): Segment {
    const made = segmentWith(segment)
    const known = this.project.segments.has(made.id)
    this.define({ kind: known ? "segment.updated" : "segment.created", segment: made })
    return made
  }

  streak(streak: Partial<Streak> = {}): Streak {
    const made = streakWith(streak)
    const known = this.project.streaks.has(made.id)
    this.define({ kind: known ? "streak.updated" : "streak.created", streak: made })
    return made
  }

  league(league: Partial<League> = {}): League {
    const made = leagueWith(league)
    const known = this.project.leagues.has(made.id)
    this.define({ kind: known ? "league.updated" : "league.created", league: made })
    return made
  }

  /** Closes a window of the league. */
  closeLeague(league: League, index: number): void {
    const { id: leagueId, key, name, window } = league
    const times = { startsAt: 0, endsAt: this.now }
    const counts = { cohorts: 1, total: 1 }
    const terms = termsOf(league)
    this.define({
      kind: "league.window_closed",
      leagueId,
      key,
      name,
      window,
      index,
      ...times,
      ...counts,
      terms,
    })
  }

  /** Sets the user's attributes. */
  attributes(attributes: Profile["attributes"]): void {
    this.do({ kind: "profile", change: { attributes } })
  }

  metric(metric: Partial<Metric>): Metric {
    const made = metricWith(metric)
    this.define({ kind: "metric.updated", metric: made })
    return made
  }

  at(time: string): void {
    this.now = Date.parse(time)
  }

  do<Command extends UserCommand>(command: Command, found?: JournalRecord): Done<Command> {
    if (command.kind !== "tick" && command.kind !== "erasure" && this.#mustSettle) {
      this.do({ kind: "tick" })
    }
    const decided = this.#decide(command, found)
    const decision = Result.getOrThrow(decided)
    const record = { sequence: ++this.#sequence, at: this.now, subject, ...decision }
    this.user = applyUser(this.user, record)
    this.records.push(record)
    this.goals.appended(record)
    const reply = replyOf(record) as ReplyTo<Command>
    return { record, facts: record.facts, reply }
  }

  /** Whether the actor decides a tick before the next command. */
  get #mustSettle(): boolean {
    return settleLeagues(this.user, this.project, this.#seats).length > 0
  }

  get #seats(): LeagueSeats {
    return { ...noSeats, rankOf: () => this.ranked, standing: () => this.standing }
  }

  #decide(command: UserCommand, found?: JournalRecord) {
    return decideRecalling(this.records, (past) =>
      decideUser(
        this.user,
        this.project,
        command,
        this.now,
        found,
        undefined,
        past,
        subject.userId,
        undefined,
        this.#seats,
        (itemId) => this.sold.get(itemId) ?? 0,
        this.goals,
      ),
    )
  }

  track(action = "TAP", more: Partial<TrackedEvent> = {}): Done<TrackedEvent> {
    return this.do({ kind: "event", action, ...more })
  }

  /** An event that comes late. */
  trackAt(occurredAt: string, action = "TAP"): Done<TrackedEvent> {
    return this.track(action, { occurredAt: Date.parse(occurredAt) })
  }

  grant(amount: number, type: "xp" | "points" = "xp"): Done<GrantedReward> {
    return this.do({ kind: "reward", type, amount })
  }

  undo({ record }: { readonly record: JournalRecord }) {
    const of = record.cause.kind === "reward" ? "reward" : "event"
    const { at, sequence } = record
    return this.do<Revocation<typeof of>>({ kind: "revocation", of, sequence, at }, record)
  }

  /** Grants amounts of further currencies. */
  give(currencies: Amounts): Done<GrantedReward> {
    return this.do({ kind: "reward", reward: { currencies } })
  }

  spend(amount: number | Amounts, more: Pick<Spending, "id" | "reason"> = {}): Done<Spending> {
    const spent = typeof amount === "number" ? { amount } : { currencies: amount }
    return this.do<Spending>({ kind: "spend", ...spent, ...more })
  }

  refund({ record: { at, sequence }, record }: Done<Spending>): Done<Revocation<"spend">> {
    return this.do({ kind: "revocation", of: "spend", sequence, at }, record)
  }

  buy(item: string, more: Pick<Purchase, "id"> = {}): Done<Purchase> {
    return this.do<Purchase>({ kind: "purchase", item, ...more })
  }

  /** Undoes a purchase. */
  giveBack({ record: { at, sequence }, record }: Done<Purchase>): Done<Revocation<"purchase">> {
    return this.do({ kind: "revocation", of: "purchase", sequence, at }, record)
  }

  /** Takes in the user of another world with the same definitions, who was merged into this one. */
  absorb({ user }: World, from: string): Done<Absorb> {
    const frozen = ++this.#sequence
    return this.do({ kind: "absorb", from, frozen, state: { ...user!, id: from } })
  }

  refused(command: UserCommand, found?: JournalRecord): LaurelError {
    const decided = this.#decide(command, found)
    return Result.getOrThrow(Result.flip(decided))
  }

  complete(questId: string): Done<TrackedEvent> {
    return this.track("QUEST_COMPLETE", { metadata: { questId } })
  }
}

export const kindsOf = ({ facts }: { readonly facts: ReadonlyArray<Fact> }) =>
  facts.map(({ kind }) => kind)
