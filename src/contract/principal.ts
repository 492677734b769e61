/** Who calls. Without keys everybody is `api` with every right. */
export interface Principal {
  /** The `actor` of the events that this call causes: the key's name, the name a session works under, or `api`. */
  readonly actor: string;
  /** Names the credential, also later: open streams ask whether it is still good. */
  readonly keyId: string | undefined;
  readonly scope: 'read' | 'write';
  /** The cities this caller may see; undefined means all of them. */
  readonly cities: readonly string[] | undefined;
  /** The session whose process calls: it acts as itself only. */
  readonly session?: SessionCaller | undefined;
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

export function maySee(principal: Principal, city: string): boolean {
  return principal.cities === undefined || principal.cities.includes(city);
}
