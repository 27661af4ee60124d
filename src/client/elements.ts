import { LaurelLeaderboard } from "./elements/Leaderboard.ts"
import { LaurelProfile } from "./elements/Profile.ts"

export { LaurelLeaderboard, LaurelProfile }

const define = (name: string, element: CustomElementConstructor) => {
  // A page may load the module twice, a server has no elements.
  if (globalThis.customElements?.get(name) === undefined)
    globalThis.customElements?.define(name, element)
}

define("laurel-leaderboard", LaurelLeaderboard)
define("laurel-profile", LaurelProfile)
