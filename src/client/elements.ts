/**
 * The elements: profile, level, badges, quests, streak, recap, leaderboard, league, goal, shop and toasts of new badges.
 * Importing this module defines them.
 *
 * An element reads its data from the server, through the property `client` or the attributes `url`
 * and `key`. It reads when it is connected, every `refresh-seconds` while the page is visible
 * (default 30; 0: never), and with `live` when its stream opens and at each message about the user.
 * It redraws only when the data or the words have changed, and inserts data only as text. A failed
 * read dispatches the event `laurel-error`, with the error as `detail`.
 *
 * ```html
 * <laurel-profile url="https://laurel.example" key="lk_pub_live_…" user="ada"></laurel-profile>
 * <script type="module">import "laurel-client/elements"</script>
 * ```
 */
import { LaurelGoal } from "./elements/goal.ts"
import { LaurelLeaderboard } from "./elements/leaderboard.ts"
import { LaurelLeague } from "./elements/league.ts"
import { LaurelBadges, LaurelLevel, LaurelProfile, LaurelQuests } from "./elements/progress.ts"
import { LaurelRecap } from "./elements/recap.ts"
import { LaurelShop } from "./elements/shop.ts"
import { LaurelStreak } from "./elements/streak.ts"
import { LaurelToast } from "./elements/toast.ts"

export { ClientElement, LaurelElement, type Words } from "./elements/base.ts"
export {
  LaurelBadges,
  LaurelGoal,
  LaurelLeaderboard,
  LaurelLeague,
  LaurelLevel,
  LaurelProfile,
  LaurelQuests,
  LaurelRecap,
  LaurelShop,
  LaurelStreak,
  LaurelToast,
}

const elements: Readonly<Record<string, CustomElementConstructor>> = {
  "laurel-badges": LaurelBadges,
  "laurel-goal": LaurelGoal,
  "laurel-leaderboard": LaurelLeaderboard,
  "laurel-league": LaurelLeague,
  "laurel-level": LaurelLevel,
  "laurel-profile": LaurelProfile,
  "laurel-quests": LaurelQuests,
  "laurel-recap": LaurelRecap,
  "laurel-shop": LaurelShop,
  "laurel-streak": LaurelStreak,
  "laurel-toast": LaurelToast,
}

for (const [name, element] of Object.entries(elements)) {
  // A page may load the module twice, and a server has no `customElements`.
  if (globalThis.customElements?.get(name) === undefined)
    globalThis.customElements?.define(name, element)
}
