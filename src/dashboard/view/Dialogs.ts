/** Dialogs that ask before something is done. They open without a script; Escape closes them. */
import { idempotencyField } from "./Forms.ts"
import { type Content, type Html, html } from "./Html.ts"

export interface Question {
  /** Unique on its page. */
  readonly id: string
  /** The text of the button that opens the dialog, and of the one that acts. */
  readonly button: string
  /** The text of the button that acts, where it says more: "Revoke key". */
  readonly confirm?: string
  /** The harmless button; it has the focus. */
  readonly keep?: string
  readonly title: string
  /** The consequences. */
  readonly detail: Content
  /** Where the form is sent. */
  readonly action: string
  /** Fields of the form. */
  readonly fields?: Content
  /** Whether it cannot be undone. */
  readonly danger?: boolean
}

/** A button that opens a dialog, whose form is sent to `action`. */
export const confirmButton = ({
  action,
  button,
  confirm = button,
  danger = true,
  detail,
  fields,
  id,
  keep = "Cancel",
  title,
}: Question): Html => {
  const look = danger ? html` class="danger"` : undefined
  return html`<button type="button"${look} command="show-modal" commandfor="${id}">${button}</button>
<dialog id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2><p>${detail}</p>
<form method="post" action="${action}">${idempotencyField()}${fields}
<div class="row"><button type="button" command="close" commandfor="${id}" autofocus>${keep}</button>
<button${look ?? html` class="main"`}>${confirm}</button></div></form></dialog>`
}
