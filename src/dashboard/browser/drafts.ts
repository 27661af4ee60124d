/**
 * Forms of definitions without a reload: rows, kinds and tries come from the server as the page that it
 * would have shown, and take the place of this page's content. Without a script the buttons load it.
 */

const draftButton = "button[formaction*='/draft']"

/** The page that answers the form, parsed but not shown; `undefined` if it is another page. */
const answerOf = (form: HTMLFormElement, button: HTMLButtonElement) =>
  new Promise<{ readonly page: Document; readonly address: string } | undefined>((resolve) => {
    const request = new XMLHttpRequest()
    request.responseType = "document"
    request.onloadend = () => {
      const page = request.responseXML
      const address = new URL(request.responseURL || location.href)
      const isSame =
        page?.querySelector("h1")?.textContent === document.querySelector("h1")?.textContent
      resolve(page && isSame ? { page, address: address.href } : undefined)
    }
    request.open("POST", button.formAction)
    // The server keeps the page for Back and Reload, as it does for a form that navigates.
    request.setRequestHeader("laurel-shows", "page")
    const texts = new FormData(form, button) as unknown as Iterable<[string, string]>
    request.send(new URLSearchParams([...texts]))
  })

const fieldsOf = (list: string): ReadonlyArray<HTMLElement> => [
  ...document.querySelectorAll<HTMLElement>(
    `fieldset[id="${list}"] :is(input, select, textarea):not([type=hidden])`,
  ),
]

/** Shows the content of the answer. The field with the focus keeps it; a new row gets it. */
const showAnswer = (page: Document, { value }: HTMLButtonElement): void => {
  const main = document.querySelector("main")!
  const focused = document.activeElement?.id
  const [verb, list = ""] = value.split(":")
  const before = fieldsOf(list).length
  main.replaceChildren(...page.querySelector("main")!.childNodes)
  const added = verb === "add" ? fieldsOf(list)[before] : undefined
  const same = focused ? document.getElementById(focused) : null
  const pressed = main.querySelector<HTMLElement>(`button[name=intent][value="${value}"]`)
  const next = added ?? same ?? pressed ?? main
  next.focus({ preventScroll: added === undefined })
  main.querySelector("[role=alert], #outcome, #changes")?.scrollIntoView({ block: "nearest" })
}

/** `enhance` prepares the new content. */
export const draftWithoutReload = (enhance: (root: ParentNode) => void): void => {
  const addressNow = () => location.pathname + location.search
  let shown = addressNow()
  const sendBy = async (button: HTMLButtonElement): Promise<void> => {
    const { form } = button
    if (form === null || form.ariaBusy === "true") return
    form.ariaBusy = "true"
    const answer = await answerOf(form, button)
    form.ariaBusy = null
    if (answer === undefined) {
      // Such as the sign-in: the browser goes there with the form.
      button.dataset.reload = ""
      button.click()
      return
    }
    history.pushState(null, "", answer.address)
    shown = addressNow()
    showAnswer(answer.page, button)
    enhance(document.querySelector("main")!)
  }
  document.addEventListener("click", (event) => {
    const button = (event.target as Element).closest<HTMLButtonElement>(draftButton)
    if (button === null || button.dataset.reload !== undefined) return
    event.preventDefault()
    sendBy(button)
  })
  // The page of an earlier try is on the server. A link into this page, such as to its content, is no
  // other page.
  addEventListener("popstate", () => {
    if (addressNow() !== shown) location.reload()
  })
}

/** The fields of a kind follow its choice, so that the button for it goes. */
export const followKind = (button: HTMLButtonElement): void => {
  const select = button.closest(".row")?.querySelector("select")
  if (!select) return
  button.hidden = true
  select.addEventListener("change", () => button.click())
}

/** A picker of the reader's time beside a field for a time with a zone. */
export const pickTime = (field: HTMLInputElement): void => {
  const label = document.querySelector(`label[for="${field.id}"]`)?.textContent ?? ""
  const picker = document.createElement("input")
  picker.type = "datetime-local"
  picker.ariaLabel = `${label} in your time zone`
  picker.disabled = field.matches(":disabled")
  const at = Date.parse(field.value)
  if (!Number.isNaN(at)) {
    const local = at - new Date(at).getTimezoneOffset() * 60_000
    picker.value = new Date(local).toISOString().slice(0, 16)
  }
  picker.addEventListener("change", () => {
    const time = new Date(picker.value)
    field.value = picker.value === "" ? "" : time.toISOString().replace(/:00\.000Z$/, ":00Z")
    field.dispatchEvent(new Event("change", { bubbles: true }))
  })
  field.after(" ", picker)
}
