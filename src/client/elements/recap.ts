import type { Recap } from "../generated/types.ts"
import type { Laurel } from "../Laurel.ts"
import { type PictureOptions, recapPicture, recapWords } from "../recap.ts"
import { commonWords, LaurelElement, make, type Words } from "./base.ts"

/**
 * `<laurel-recap>`: the picture of what the user did from the day `from` to the day `to` (default:
 * this year), with a button that saves it. Custom properties do not reach the picture, which is a
 * file of its own; set `colours`.
 */
export class LaurelRecap extends LaurelElement<Recap | undefined> {
  words: Words = { ...commonWords, ...recapWords, recap: "Recap", save: "Save picture" }
  /** The colours of the picture: ground, text and accent. */
  colours: PictureOptions["colours"]

  protected read({ recaps }: Laurel, signal: AbortSignal): Promise<Recap | undefined> {
    const given = ["from", "to"].map((name) => [name, this.getAttribute(name) ?? undefined])
    return this.orNothing(recaps.get(this.userId, Object.fromEntries(given), { signal }))
  }

  protected override get options(): Pick<PictureOptions, "colours" | "rightToLeft"> {
    const { colours } = this
    const rightToLeft = getComputedStyle(this).direction === "rtl"
    return { rightToLeft, ...(colours !== undefined && { colours }) }
  }

  protected draw(recap: Recap | undefined): ReadonlyArray<Node> {
    if (recap === undefined) return this.empty("recap")
    const { options, words } = this
    const text = recapPicture(recap, { words, ...options })
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
