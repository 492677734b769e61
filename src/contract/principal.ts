/**
 * What a caller may change. `operate`: what is done in a city as it is set up (sessions, messages, beads, mail, sling, suspending).
 * `configure`: how it is set up, without saying what is run (agents, rigs, patches, cities). `commands`: what is run (providers,
 * variables of processes, packs, directories made cities). `audit`: reading who did what, which is the one right about reading. None
 * follows from another.
 */
export const RIGHTS = ['operate', 'configure', 'commands', 'audit'] as const;
export type Right = (typeof RIGHTS)[number];

/** Who calls. Without keys everybody is `api` with every right. */
export interface Principal {
  /** The `actor` of the events that this call causes: the key's name, the name a session works under, or `api`. */
  readonly actor: string;
  /** Names the credential, also later: open streams ask whether it is still good. */
  readonly keyId: string | undefined;
  /** `write` is every right; a key with some is of scope `read` and has them in `rights`. */
  readonly scope: 'read' | 'write';
  readonly rights?: readonly Right[];
  /** Names what was shown as proof: a key that has a new secret is another credential. */
  readonly credential?: string;
  /** The cities this caller may see; undefined means all of them. */
  readonly cities: readonly string[] | undefined;
  /** The session whose process calls: it acts as itself only. */
  readonly session?: SessionCaller | undefined;
  /** The adapter of an account elsewhere that calls: it speaks for that account only. */
  readonly adapter?: AdapterCaller | undefined;
  /** A command of an order or the script of a check calls: nobody reads what it is answered. */
  readonly command?: true;
}

export interface AdapterCaller {
  readonly pk: number;
  readonly provider: string;
  readonly accountId: string;
}

export interface SessionCaller {
  readonly id: string;
  readonly pk: number;
  readonly city: string;
  readonly streamId: number;
  /** The name under which it works: its agent's, its pool member's, or its id. */
  readonly agentName: string;
  /** All names that mean it: its id, its session name, its alias, and `agentName`. */
  readonly names: readonly string[];
}

export const ANYBODY: Principal = Object.freeze({ actor: 'api', keyId: undefined, scope: 'write', cities: undefined });

/** What open streams and waiting reads ask about, again and again. */
export const credentialOf = (principal: Principal): string | undefined => principal.credential ?? principal.keyId;

export function may(principal: Principal, right: Right): boolean {
  return principal.scope === 'write' || principal.rights?.includes(right) === true;
}

/** Why a caller may not manage keys; undefined where it may: it could give itself any right, in any city. */
export function whyNotAdminister({ scope, cities }: Principal): string | undefined {
  return scope === 'write' && cities === undefined ? undefined : 'keys are managed with a write key that is not limited to cities';
}

export function maySee(principal: Principal, city: string): boolean {
  return principal.cities === undefined || principal.cities.includes(city);
}

/** Why a session may not change a bead that `holder` has under way; undefined when nobody has, or the session itself. */
export function heldFrom({ names }: SessionCaller, bead: string, holder: string | null | undefined): string | undefined {
  return !holder || names.includes(holder) ? undefined : `bead ${bead} is being worked on by ${holder}`;
}
