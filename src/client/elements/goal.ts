import type { UserGoals } from "../generated/types.ts"
import type { Laurel } from "../Laurel.ts"
import { bar, commonWords, LaurelElement, make, moment, named, number, type Words } from "./base.ts"

/**
 * `<laurel-goal>`: a shared goal as the user sees it: what all, or the user's team, have reached of the
 * target, and what the user contributed. The attribute `goal` has the key (default: the first one).
 */
export class LaurelGoal extends LaurelElement<UserGoals | undefined> {
  words: Words = {
    ...commonWords,
    goal: "Goal",
    total: "{total} of {target} · {percent} %",
    contributors: "{count} contributors",
    own: "Your part: {amount}",
    ends: "Until {time}",
    complete: "Reached!",
    rewarded: "You got the reward",
    noTeam: "Join a team to take part",
  }

  protected async read({ goals }: Laurel, signal: AbortSignal): Promise<UserGoals | undefined> {
    return this.orNothing(goals.ofUser(this.userId, { signal }))
  }

  protected override get options(): object {
    return { goal: this.getAttribute("goal") }
  }

  protected draw(shown: UserGoals | undefined): ReadonlyArray<Node> {
    const asked = this.getAttribute("goal")
    const goal = shown?.goals.find(({ key }) => asked === null || key === asked)
    if (goal === undefined) return this.empty("goal")
    const { words } = this
    const { contribution, name, progress, rewarded, target, team } = goal
    const label = this.getAttribute("label") ?? name
    const title = team === null ? label : `${label} · ${team.name}`
    const heading = make("p", make("strong", make("bdi", title)))
    if (progress === null) return [heading, make("p", words.noTeam!)]
    const { completedAt, contributors, endsAt, percent, total } = progress
    const sum = words
      .total!.replace("{total}", number(total))
      .replace("{target}", number(target))
      .replace("{percent}", number(percent))
    const count = words.contributors!.replace("{count}", number(contributors))
    const lines = [make("p", sum), make("p", words.own!.replace("{amount}", number(contribution)))]
    if (completedAt !== null) lines.push(make("p", make("strong", words.complete!)))
    if (rewarded) lines.push(make("p", words.rewarded!))
    const until = endsAt === null ? [] : [moment(endsAt)]
    const quiet = [count, ...until.map((time) => words.ends!.replace("{time}", time))]
    return [
      heading,
      bar(title, percent / 100),
      ...lines,
      named(make("p", quiet.join(" · ")), "quiet"),
    ]
  }
}
