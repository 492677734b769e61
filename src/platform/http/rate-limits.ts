import type { Ceilings, Rate } from '../config/config.js';
import { maySee, type Principal } from '../../contract/principal.js';
import { problem, type ProblemError } from '../../contract/problems.js';
import type { Party } from '../turns/turns.js';
import { Buckets } from './buckets.js';

/** How long a client waits for a stream of its own to end. */
export const STREAM_RETRY_S = 5;

/** How many requests callers make, in this process's memory: with N replicas a client may have N times as much. */
export class RateLimits {
  readonly #buckets: Buckets;

  constructor(
    private readonly rates: Ceilings<Rate>,
    now?: () => number,
  ) {
    this.#buckets = new Buckets(now);
  }

  /** Counts a request. The refusal when there were too many. */
  admit(caller: Principal, city: string | undefined): ProblemError | undefined {
    const refused = this.#take('key', keyName(caller));
    if (refused !== undefined) return refused;
    const shared = sharedCity(caller, city);
    return shared === undefined ? undefined : this.#take('city', shared);
  }

  #take(what: keyof Ceilings<Rate>, name: string): ProblemError | undefined {
    const { perSecond, burst } = this.rates[what];
    const waitMs = this.#buckets.take(`${what} ${name}`, { perSecond, burst });
    if (waitMs === 0) return undefined;
    const rule = `${burst} requests at once, ${perSecond} a second in the long run`;
    return tooMany(what, { rule, policy: `q=${burst};w=${Math.ceil(burst / perSecond)}`, retryS: Math.ceil(waitMs / 1_000) });
  }
}

/** How many streams callers hold open at this process, and reads that wait. */
export class StreamLimits {
  readonly #open = new Map<string, number>();

  constructor(private readonly ceilings: Ceilings<number>) {}

  /** Counts a stream, or a read that waits, until `closed` has called back. The refusal when there are too many. */
  admit(caller: Principal, city: string | undefined, closed: (leave: () => void) => void): ProblemError | undefined {
    const shared = ownCity(caller, city);
    const names = [['key', keyName(caller)] as const, ...(shared === undefined ? [] : [['city', shared] as const])];
    for (const [what, name] of names) {
      const most = this.ceilings[what];
      if ((this.#open.get(`${what} ${name}`) ?? 0) < most) continue;
      return tooMany(what, {
        rule: `${most} streams open at once, reads that wait among them`,
        policy: `q=${most};qu="concurrent-requests"`,
        retryS: STREAM_RETRY_S,
      });
    }
    for (const [what, name] of names) this.#count(`${what} ${name}`, 1);
    closed(() => {
      for (const [what, name] of names) this.#count(`${what} ${name}`, -1);
    });
    return undefined;
  }

  #count(id: string, change: number): void {
    const open = (this.#open.get(id) ?? 0) + change;
    if (open === 0) this.#open.delete(id);
    else this.#open.set(id, open);
  }
}

/** Who has no key counts as one. */
function keyName({ keyId = '' }: Principal): string {
  return keyId;
}

/**
 * Whose common limit a request counts for. Callers that may see all cities are not held up by what the agents of one do; those
 * that may not see it take nothing from it.
 */
function sharedCity(caller: Principal, city: string | undefined): string | undefined {
  return caller.cities !== undefined && city !== undefined && maySee(caller, city) ? city : undefined;
}

/** What names no city, as the supervisor's streams, counts for the city of a caller that has only one. */
function ownCity(caller: Principal, city: string | undefined): string | undefined {
  return sharedCity(caller, city) ?? (caller.cities?.length === 1 ? caller.cities[0] : undefined);
}

/** Who takes turns with whom: cities with each other, and with keys that see all of them. */
export function partyOf(caller: Principal, city: string | undefined): Party {
  const key = keyName(caller);
  const own = ownCity(caller, city);
  if (own !== undefined) return { owner: `city ${own}`, limited: true, lane: key };
  return { owner: `key ${key}`, limited: caller.cities !== undefined, lane: city ?? '' };
}

const WHOSE = { key: 'of this key', city: 'of all keys of this city' } as const;

/** The fields of the current draft (draft-ietf-httpapi-ratelimit-headers): nothing remains for `t` seconds. */
export function tooMany(
  what: keyof Ceilings<unknown>,
  { rule, policy, retryS }: { rule: string; policy: string; retryS: number },
): ProblemError {
  return problem('rate_limited', `too many requests ${WHOSE[what]}: ${rule}`, {
    headers: { 'retry-after': String(retryS), 'ratelimit-policy': `"${what}";${policy}`, ratelimit: `"${what}";r=0;t=${retryS}` },
  });
}
