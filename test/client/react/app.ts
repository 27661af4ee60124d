/** An app on the hooks of `laurel-client/react`. The page and the server that renders it run this module. */
import { createElement as h, StrictMode, useState } from "react"
import { hydrateRoot, type Root } from "react-dom/client"
import type { Progress } from "../../../src/client/generated/types.ts"
import type { Laurel } from "../../../src/client/Laurel.ts"
import {
  LaurelProvider,
  useGoal,
  useLeaderboard,
  useLeaderboardEntries,
  useLeague,
  useMessages,
  useProgress,
  useRecap,
  useShop,
  useStreak,
  useUser,
} from "../../../src/client/react.ts"
import { Badges, Shop } from "../../../src/client/react-elements.ts"

export interface AppProps {
  readonly client: Laurel
  readonly user: string
  readonly initial?: Progress | null
}

const Level = ({ initial, user }: Pick<AppProps, "initial" | "user">) => {
  const options = { live: true, refreshSeconds: 0, ...(initial !== undefined && { initial }) }
  const { data, error, isLoading } = useProgress(user, options)
  const words = data ? `Level ${data.level}, ${data.xp} xp` : "Nothing yet"
  return h("p", { role: "status" }, error?.code ?? (isLoading ? "Wait" : words))
}

const Name = ({ user }: Pick<AppProps, "user">) => {
  const { data } = useUser(user, { refreshSeconds: 0 })
  return h("h1", null, data?.displayName ?? "App")
}

const Board = ({ user }: Pick<AppProps, "user">) => {
  const { data, refresh } = useLeaderboard({ limit: 9 }, { refreshSeconds: 0 })
  const rows = data?.entries.map(({ rank, userId }) =>
    h("li", { key: userId }, `${rank} ${userId}`),
  )
  return h(
    "nav",
    null,
    h("button", { type: "button", onClick: refresh }, `Board of ${user}`),
    h("ol", null, rows),
  )
}

const Year = ({ user }: Pick<AppProps, "user">) => {
  const { data: recap } = useRecap(user, {}, { refreshSeconds: 0 })
  const { data: board } = useLeaderboardEntries("tappers", { around: user }, { refreshSeconds: 0 })
  const words = recap ? `${recap.totals.events} events` : "No events"
  return h("p", { title: "Year" }, `${words}, rank ${board?.me?.rank ?? "none"}`)
}

const Counter = ({ user }: Pick<AppProps, "user">) => {
  const { buy, data } = useShop(user, { refreshSeconds: 0 })
  const [item] = data?.items ?? []
  const words = item === undefined ? "Nothing for sale" : `Bought ${item.bought}`
  return h("button", { type: "button", title: "Buy", onClick: () => buy("pin") }, words)
}

const Season = ({ user }: Pick<AppProps, "user">) => {
  const { data: goal } = useGoal(user, "taps", { refreshSeconds: 0 })
  const { data: none } = useGoal(user, "of-another-project", { refreshSeconds: 0 })
  const { data: streak } = useStreak(user, undefined, { refreshSeconds: 0 })
  const { data: league } = useLeague(user, undefined, { refreshSeconds: 0 })
  const ranks = league?.entries.map(({ rank, userId }) => `${rank} ${userId}`)
  const words = [goal?.contribution, none === null ? "none" : "wait", streak?.current, ranks]
  return h("p", { title: "Season" }, JSON.stringify(words))
}

const News = ({ user }: Pick<AppProps, "user">) => {
  const [news, setNews] = useState<ReadonlyArray<string>>([])
  useMessages({ userId: user, events: "badge.earned" }, ({ type }) => setNews([...news, type]))
  return h("output", null, news.join())
}

/** The page's own way to buy. */
const asked = (key: string): void => {
  document.title = `Asked for ${key}`
}

export const App = ({ client, initial, user }: AppProps) =>
  h(
    LaurelProvider,
    { client },
    h(Name, { user }),
    h(Level, { user, ...(initial !== undefined && { initial }) }),
    h(Level, { user, ...(initial !== undefined && { initial }) }),
    h(Board, { user }),
    h(News, { user }),
    h(Year, { user }),
    h(Counter, { user }),
    h(Season, { user }),
    h(Shop, { user, refreshSeconds: 0, buy: true, onBuy: ({ key }) => asked(key) }),
    h(Badges, { user, refreshSeconds: 0, words: { badges: "Your badges" } }),
  )

/** Takes over the page that the server rendered. */
export const hydrate = (main: Parameters<typeof hydrateRoot>[0], props: AppProps): Root =>
  hydrateRoot(main, h(StrictMode, null, h(App, props)))

/** Shows another user. */
export const show = (root: Root, props: AppProps): void =>
  root.render(h(StrictMode, null, h(App, props)))
