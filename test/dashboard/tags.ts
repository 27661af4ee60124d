/** Reads the tags of a page strictly: markup that a browser would have to repair is a fault. */
export interface Tag {
  readonly name: string
  readonly attributes: ReadonlyArray<readonly [name: string, value: string]>
}

const tag = /<(\/?)([a-z][a-z0-9]*)((?:\s+[a-z][a-zA-Z0-9-]*(?:="[^"<>]*")?)*)\s*\/?>/y
const attribute = /([a-z][a-zA-Z0-9-]*)(?:="([^"]*)")?/g

const unescaped = (text: string): string =>
  text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")

/** All opening tags, and each `<`, `>` and `&` that belongs to no well-formed tag or reference. */
export const tagsOf = (
  html: string,
): { readonly tags: ReadonlyArray<Tag>; readonly faults: ReadonlyArray<string> } => {
  const tags: Array<Tag> = []
  const faults: Array<string> = []
  const body = html.replace(/^<!doctype html>/, "")
  for (let at = 0; at < body.length; at++) {
    const character = body[at]
    const around = body.slice(Math.max(0, at - 30), at + 60)
    if (character === "&" && !/^&(?:amp|lt|gt|quot|#39|nbsp);/.test(body.slice(at, at + 8))) {
      faults.push(around)
    } else if (character === ">") faults.push(around)
    else if (character === "<") {
      tag.lastIndex = at
      const [whole, slash, name, attributes] = tag.exec(body) ?? []
      if (whole === undefined) {
        faults.push(around)
        continue
      }
      at += whole.length - 1
      if (slash === "") {
        const pairs = [...attributes!.matchAll(attribute)].map(
          ([, key, value = ""]) => [key!, unescaped(value)] as const,
        )
        tags.push({ name: name!, attributes: pairs })
      }
    }
  }
  return { tags, faults }
}
