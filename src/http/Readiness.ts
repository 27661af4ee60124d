/** Whether the service accepts requests, for `/readyz`. The program sets it; the HTTP server only looks. */
import { Context, Layer } from "effect"

export class Readiness extends Context.Service<Readiness, { ready: boolean }>()("http/Readiness") {
  /** Not ready until somebody says so. */
  static readonly layer = Layer.sync(Readiness, () => ({ ready: false }))
}
