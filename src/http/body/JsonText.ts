/** JSON that stands for a `Body`, of a reply that is written faster by hand than by `JSON.stringify`. */
export class JsonText<Body> {
  readonly text: string

  /** `text` must parse to a `Body`. */
  constructor(text: string) {
    this.text = text
  }

  parse(): Body {
    return JSON.parse(this.text) as Body
  }
}
