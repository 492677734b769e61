/** Who calls. Without keys everybody is `api` with every right. */
export interface Principal {
  /** The `actor` of the events that this call causes: the key's name, or `api`. */
  readonly actor: string;
  readonly keyId: string | undefined;
  readonly scope: 'read' | 'write';
  /** The cities this caller may see; undefined means all of them. */
  readonly cities: readonly string[] | undefined;
}

export const ANYBODY: Principal = Object.freeze({ actor: 'api', keyId: undefined, scope: 'write', cities: undefined });

export function maySee(principal: Principal, city: string): boolean {
  return principal.cities === undefined || principal.cities.includes(city);
}
