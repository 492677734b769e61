import { counted } from '../lib/counted.js';
import type { CityNumbers } from './overview.js';

/** Something that a person should look at, and that nobody waits for: it is shown, and not counted with the questions. */
export interface Attention {
  readonly kind: 'city' | 'files' | 'sessions';
  readonly city: string;
  readonly words: string;
  readonly detail?: string;
  /** Of sessions: the state that they are in. */
  readonly state?: string;
}

/** States that a session leaves by somebody's hand alone. */
const STUCK: readonly (readonly [state: string, one: string, many: string])[] = [
  ['quarantined', 'session is quarantined: it crashed too often', 'sessions are quarantined: they crashed too often'],
  ['failed-create', 'session could not be started', 'sessions could not be started'],
];
const RANKS = { city: 0, files: 1, sessions: 2 } as const;

/** The worst first. */
export function attentionOf(cities: Iterable<CityNumbers>): readonly Attention[] {
  const found: Attention[] = [];
  for (const { name: city, error, config_error: refused, status, sessions } of cities) {
    if (error !== undefined || status === 'init_failed')
      found.push({ kind: 'city', city, words: 'The city does not come up', ...(error === undefined ? {} : { detail: error }) });
    if (refused !== undefined)
      found.push({ kind: 'files', city, words: 'Its files were refused: it goes on with what they were', detail: refused });
    for (const [state, one, many] of STUCK) {
      const count = sessions[state] ?? 0;
      if (count > 0) found.push({ kind: 'sessions', city, state, words: counted(count, one, many) });
    }
  }
  return found.sort((a, b) => RANKS[a.kind] - RANKS[b.kind] || a.city.localeCompare(b.city));
}
