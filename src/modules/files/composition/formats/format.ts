import type { z } from 'zod';

/** What becomes of a key that the format does not have; it is left out in every case. */
export type UnknownKeys = 'warning' | 'error';

/** A key that goes by another name now. `table` is a key with `[]` for every item of a list and `*` for every name. */
export interface Renamed {
  readonly table: string;
  readonly old: string;
  readonly now: string;
}

/** What a kind of file may hold. */
export interface Format {
  readonly schema: z.ZodType;
  readonly unknown: UnknownKeys;
  /** Keys below which unknown keys are errors whatever `unknown` says; written as in `Renamed`. */
  readonly strict?: readonly string[];
  readonly renamed?: readonly Renamed[];
  /** Keys that are accepted and mean nothing; written as in `Renamed`, the last part is the key. */
  readonly meaningless?: readonly string[];
}
