import type { Info } from '../api/types.js';

type Right = Info['caller']['rights'][number];
/** What an operation needs of a key, as the contract says it. */
export type Need = Right | 'all-cities' | 'administer';
/** Each right that there is, in the order in which they are offered: one that is missing here is a mistake of types. */
const ALL: Readonly<Record<Right, true>> = { operate: true, configure: true, commands: true, audit: true };
export const RIGHTS = Object.keys(ALL) as readonly Right[];

export interface Caller {
  readonly rights: readonly string[];
  /** Null: all of them. */
  readonly cities: readonly string[] | null;
}

/** What a key lacks for all of these; undefined where it lacks nothing. The service stays the judge. */
export function lackOf({ rights, cities }: Caller, needs: readonly Need[]): string | undefined {
  const everywhere = needs.some((need) => need === 'all-cities' || need === 'administer');
  if (everywhere && cities !== null) return 'this key is limited to cities';
  const lacks = RIGHTS.find((right) => (needs.includes(right) || needs.includes('administer')) && !rights.includes(right));
  return lacks === undefined ? undefined : `this key lacks the right “${lacks}”`;
}

/** What a key is limited to, in a few words; undefined where it is to nothing. */
export function limitsOf({ rights, cities }: Caller): string | undefined {
  const may = rights.length === 0 ? 'reads only' : RIGHTS.some((right) => !rights.includes(right)) ? `may ${rights.join(', ')}` : undefined;
  const where = cities === null ? undefined : `in ${cities.length === 0 ? 'no city' : cities.join(', ')}`;
  const words = [may, where].filter((one) => one !== undefined);
  return words.length === 0 ? undefined : words.join(' ');
}
