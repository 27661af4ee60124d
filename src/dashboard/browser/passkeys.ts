/** Buttons that fill their form with a passkey. Without this script they stay hidden. */

const sentences: Readonly<Record<string, string>> = {
  NotAllowedError: "No passkey was chosen, or the time ran out.",
  InvalidStateError: "This device has a passkey of the account already.",
  SecurityError: "Passkeys do not work at this address.",
  NotSupportedError: "This device offers no passkey that the server accepts.",
}

/**
 * The browser's answer to the server's options, as JSON; `""` if the server refuses. The form then
 * shows the reason.
 */
const answerOf = async ({ dataset, form }: HTMLButtonElement): Promise<string> => {
  const fields = new FormData(form!)
  fields.delete("password")
  const body = new URLSearchParams([...fields].map(([name, value]) => [name, String(value)]))
  const reply = await fetch(dataset.options!, { method: "POST", body, redirect: "manual" })
  if (!reply.ok) return ""
  const options = await reply.json()
  const credential =
    dataset.passkey === "create"
      ? await navigator.credentials.create({
          publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
        })
      : await navigator.credentials.get({
          publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
        })
  return JSON.stringify(credential)
}

const passkeyButton = (button: HTMLButtonElement): void => {
  const form = button.form!
  const field = form.querySelector<HTMLInputElement>("input[name=passkey]")!
  const alert = form.querySelector<HTMLElement>("[role=alert]")!
  let busy = false
  button.hidden = false
  form.querySelector<HTMLElement>("[data-no-passkey]")!.hidden = true
  button.addEventListener("click", async (event) => {
    event.preventDefault()
    if (busy || (!button.formNoValidate && !form.reportValidity())) return
    busy = true
    alert.hidden = true
    try {
      field.value = await answerOf(button)
      form.requestSubmit(button)
    } catch (error) {
      const { message, name } = error as DOMException
      alert.textContent = sentences[name] ?? message
      alert.hidden = false
    }
    busy = false
  })
}

if ("PublicKeyCredential" in window) {
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-passkey]")) {
    passkeyButton(button)
  }
}
