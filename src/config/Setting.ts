/** A setting of a server: its variable, default, parser and meaning. */
import type { Parse } from "./SettingForms.ts"

export interface Setting<A> {
  readonly variable: string
  readonly fallback: string
  readonly parse: Parse<A>
  readonly meaning: string
  /** Its value is never shown. */
  readonly secret?: boolean
}

export const setting = <A>(
  variable: string,
  fallback: string,
  parse: Parse<A>,
  meaning: string,
): Setting<A> => ({ variable, fallback, parse, meaning })

/** The values of settings by their names. */
export type ValuesOf<Settings> = {
  readonly [Name in keyof Settings]: Settings[Name] extends Setting<infer A> ? A : never
}
