import type { Laurel } from "../Laurel.ts"
import { type AnyRecap, type PictureOptions, recapPicture, recapWords } from "../recap.ts"
import { commonWords, LaurelElement, make, type Words } from "./base.ts"

/**
 * `<laurel-recap>`: the picture of what the user did from the day `from` to the day `to` (default:
 * this year), with a button that saves it; with the attribute `everyone`, of what all users did, for
 * which the client needs the scope `read`. The attribute `label` is its title. Custom properties do not reach the picture, which is a
 * file of its own; set `colours`.
 */
export class LaurelRecap extends LaurelElement<AnyRecap | undefined> {
  words: Words = { ...commonWords, ...recapWords, recap: "Recap", save: "Save picture" }
  /** The colours of the picture: ground, text and accent. */
  colours: PictureOptions["colours"]

  protected read({ recaps }: Laurel, signal: AbortSignal): Promise<AnyRecap | undefined> {
    const given = ["from", "to"].map((name) => [name, this.getAttribute(name) ?? undefined])
    const range = Object.fromEntries(given)
    return this.hasAttribute("everyone")
      ? recaps.environment(range, { signal })
      : this.orNothing(recaps.get(this.userId, range, { signal }))
  }

  protected override get options(): Pick<PictureOptions, "colours" | "name" | "rightToLeft"> {
    const { colours } = this
    const name = this.getAttribute("label")
    const rightToLeft = getComputedStyle(this).direction === "rtl"
    return {
      rightToLeft,
      ...(name !== null && { name }),
      ...(colours !== undefined && { colours }),
    }
  }

  protected draw(recap: AnyRecap | undefined): ReadonlyArray<Node> {
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
