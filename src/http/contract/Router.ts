/**
 * From method and path to a route. Paths match exactly, segment by segment: no case folding, and no normalisation of `.`,
 * `..`, `//` or a slash at the end. A parameter matches one segment before it is decoded, so `%2F` in an id is part of the
 * id; the operation refuses a segment that is empty or dots.
 */

/** A route as the router sees it: method, and path with parameters as `:id`. */
export interface RouteShape {
  readonly method: string
  readonly path: string
}

export type RouteMatch<Route> =
  | {
      readonly kind: "found"
      readonly route: Route
      /** The parameters as they stand in the path, still percent-encoded, in its order. */
      readonly rawParams: ReadonlyArray<string>
    }
  | { readonly kind: "wrongMethod"; readonly allow: string }
  | { readonly kind: "nothing" }

/** One place of the tree: what follows, by literal segment or by parameter, and the routes that end here. */
class Place<Route> {
  readonly literals = new Map<string, Place<Route>>()
  parameter: Place<Route> | undefined = undefined
  readonly routes = new Map<string, Route>()
}

const nothing = { kind: "nothing" } as const

export class Router<Route extends RouteShape> {
  readonly #root = new Place<Route>()

  constructor(routes: Iterable<Route>) {
    for (const route of routes) this.#add(route)
  }

  #add(route: Route): void {
    let place = this.#root
    for (const segment of route.path.slice(1).split("/")) {
      if (segment.startsWith(":")) {
        place.parameter ??= new Place()
        place = place.parameter
      } else {
        let next = place.literals.get(segment)
        if (next === undefined) {
          next = new Place()
          place.literals.set(segment, next)
        }
        place = next
      }
    }
    if (place.routes.has(route.method)) {
      throw new Error(`Two routes for ${route.method} ${route.path}`)
    }
    place.routes.set(route.method, route)
  }

  /** The route for a request; `path` is the request's, without the query. A GET route also answers HEAD. */
  find(method: string, path: string): RouteMatch<Route> {
    if (!path.startsWith("/")) return nothing
    let place: Place<Route> | undefined = this.#root
    const rawParams: Array<string> = []
    for (let start = 1, end = 0; end < path.length; start = end + 1) {
      const slash = path.indexOf("/", start)
      end = slash === -1 ? path.length : slash
      const segment = path.slice(start, end)
      // A look-up enters the text into V8's table of strings: done only where a literal may stand.
      const literal: Place<Route> | undefined =
        place.literals.size === 0 ? undefined : place.literals.get(segment)
      if (literal !== undefined) {
        place = literal
        continue
      }
      place = place.parameter
      if (place === undefined) return nothing
      rawParams.push(segment)
    }
    return place.routes.size === 0 ? nothing : ending(place, method, rawParams)
  }
}

const ending = <Route>(
  place: Place<Route>,
  method: string,
  rawParams: ReadonlyArray<string>,
): RouteMatch<Route> => {
  const route = place.routes.get(method === "HEAD" ? "GET" : method)
  if (route !== undefined) return { kind: "found", route, rawParams }
  const allowed = [...place.routes.keys()]
  if (place.routes.has("GET")) allowed.push("HEAD")
  return { kind: "wrongMethod", allow: allowed.sort().join(", ") }
}
