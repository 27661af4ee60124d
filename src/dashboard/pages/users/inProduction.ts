import type { PlaceVisit } from "../../request/Route.ts"

/** Ends a title or a button: names the environment where a mistake reaches real users. */
export const inProduction = ({ place }: PlaceVisit): string =>
  place.environment === "production" ? " in production" : ""
