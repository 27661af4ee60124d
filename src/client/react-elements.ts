/**
 * The elements as components for React 18 and later. A component reads with the client of the
 * `LaurelProvider` around it; a server renders an empty element, which fills itself in the browser.
 *
 * ```tsx
 * <LaurelProvider client={laurel}><Badges user="ada" live label="Your badges" /></LaurelProvider>
 * ```
 */
import { type CSSProperties, createElement, type ReactElement, useEffect, useRef } from "react"
import "./elements.ts"
import type { ClientElement, LaurelElement, LaurelRecap } from "./elements.ts"
import type { ItemForUser } from "./generated/types.ts"
import type { LaurelError } from "./LaurelError.ts"
import { useLaurel } from "./react.ts"

/** The attributes of all elements, and what only a property can hold. */
export interface ElementProps {
  readonly user?: string
  readonly label?: string
  /** Seconds between two reads; 0: one read only. Default: 30. */
  readonly refreshSeconds?: number
  /** Whether to follow the messages about the user: needs a user token. */
  readonly live?: boolean
  /** Replaces some of the words, for translation. */
  readonly words?: Readonly<Record<string, string>>
  readonly className?: string
  readonly id?: string
  /** Custom properties, too: `{ "--laurel-accent": "navy" } as CSSProperties`. */
  readonly style?: CSSProperties
  /** Called with the error of a read that failed. */
  readonly onError?: (error: LaurelError) => void
}

const component =
  <More extends object = object>(name: string) =>
  (props: ElementProps & More): ReactElement => {
    const {
      buy,
      className,
      colours,
      everyone,
      live,
      onBuy,
      onError,
      refreshSeconds,
      teams,
      words,
      ...attributes
    } = props as ElementProps & Further
    const laurel = useLaurel()
    const ref = useRef<ClientElement>(null)
    const handlers = useRef({ onBuy, onError })
    const texts = JSON.stringify([words, colours])
    useEffect(() => {
      handlers.current = { onBuy, onError }
    })
    useEffect(() => {
      const element = ref.current!
      const [given, palette] = JSON.parse(texts) as [ElementProps["words"]?, Further["colours"]?]
      element.words = { ...element.words, ...given }
      if (palette) Object.assign(element, { colours: palette })
      element.client = laurel
      const report = ({ detail }: Event & { readonly detail?: unknown }) =>
        handlers.current.onError?.(detail as LaurelError)
      const sell = (event: Event & { readonly detail?: unknown }) => {
        const { onBuy } = handlers.current
        if (onBuy === undefined) return
        event.preventDefault()
        const sold = Promise.resolve(onBuy(event.detail as ItemForUser))
        sold.finally(() => (element as LaurelElement).refresh())
      }
      element.addEventListener("laurel-error", report)
      element.addEventListener("laurel-buy", sell)
      return () => {
        element.removeEventListener("laurel-error", report)
        element.removeEventListener("laurel-buy", sell)
      }
    }, [laurel, texts])
    // React sets a prop as a property where the element has one, so no name may be of both. React 18
    // makes an attribute `classname` of `className`.
    const own = {
      class: className,
      "refresh-seconds": refreshSeconds,
      live: live ? "" : undefined,
      buy: buy ? "" : undefined,
      everyone: everyone ? "" : undefined,
      teams: teams ? "" : undefined,
    }
    return createElement(name, { ...attributes, ...own, ref })
  }

/** What only some elements have. */
interface Further {
  readonly colours?: LaurelRecap["colours"]
  readonly buy?: boolean
  readonly onBuy?: (item: ItemForUser) => unknown
  readonly teams?: boolean
  readonly everyone?: boolean
}

export const Profile = component("laurel-profile")
export const Level = component("laurel-level")
export const Badges = component("laurel-badges")
export const Quests = component("laurel-quests")
export const Leaderboard = component<{
  readonly window?: "all_time" | "daily" | "weekly" | "monthly" | "days"
  readonly limit?: number
  /** The key of a leaderboard. Default: that of xp. */
  readonly board?: string
  /** With `board`: the ids of users with commas between them, who are ranked among themselves. */
  readonly friends?: string
  /** With `board`, which has `groupBy`: the group, whose users have their ranks there. */
  readonly group?: string
  /** With `board`, which ranks teams: shows them, and marks the team with the id `team`. */
  readonly teams?: boolean
  readonly team?: string
}>("laurel-leaderboard")
/** `goal`: the key of a shared goal. Default: the first one. */
export const Goal = component<{ readonly goal?: string }>("laurel-goal")
/** `league`: the key of a league. Default: the first one. */
export const League = component<{ readonly league?: string }>("laurel-league")
/** `streak`: the key of a streak. Default: the first one. */
export const Streak = component<{ readonly streak?: string }>("laurel-streak")
/**
 * `from` and `to`: days such as `2026-01-01`. Default: this year. `everyone`: of all users, for a
 * client with the scope `read`.
 */
export const Recap = component<
  { readonly from?: string; readonly to?: string } & Pick<Further, "colours" | "everyone">
>("laurel-recap")
/**
 * `buy`: each item has a button. It calls `onBuy` with the item, and then reads again; without
 * `onBuy` the element buys with the client, which needs a user token with the scope `purchases`.
 */
export const Shop = component<Pick<Further, "buy" | "onBuy">>("laurel-shop")
/** `seconds`: how long a toast stays. Default: 6. */
export const Toast = component<{ readonly seconds?: number }>("laurel-toast")
