import type { Recap } from "../generated/types.ts"
import type { Laurel } from "../Laurel.ts"
import { recapPicture, recapWords } from "../recap.ts"
import { commonWords, LaurelElement, make, type Words } from "./base.ts"

/**
 * `<laurel-recap>`: the picture of what the user did from the day `from` to the day `to` (default:
 * this year), with a button that saves it. Custom properties do not reach the picture, which is a
 * file of its own; set `colours`.
 */
export class LaurelRecap extends LaurelElement<Recap | undefined> {
  words: Words = { ...commonWords, ...recapWords, recap: "Recap", save: "Save picture" }
  /** The colours of the picture: ground, text and accent. */
  colours: readonly [ground: string, text: string, accent: string] | undefined

  protected read({ recaps }: Laurel, signal: AbortSignal): Promise<Recap | undefined> {
    const given = ["from", "to"].map((name) => [name, this.getAttribute(name) ?? undefined])
    return this.orNothing(recaps.get(this.user, Object.fromEntries(given), { signal }))
  }

  protected draw(recap: Recap | undefined): ReadonlyArray<Node> {
    if (recap === undefined) return this.empty("recap")
    const { colours, words } = this
    const text = recapPicture(recap, {
      words,
      rightToLeft: getComputedStyle(this).direction === "rtl",
      ...(colours !== undefined && { colours }),
    })
    const picture = new DOMParser().parseFromString(text, "image/svg+xml").documentElement
    const save = make("button", words.save!) as HTMLButtonElement
    save.type = "button"
    save.onclick = () => {
      const link = make("a") as HTMLAnchorElement
      link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }))
      link.download = `recap-${recap.from}-${recap.to}.svg`
      link.click()
      URL.revokeObjectURL(link.href)
    }
    return [picture, save]
  }
}
