import { RIGHTS, type Right } from '../../../contract/principal.js';
import type { KeyRow } from './keys.repository.js';

/** What a key may change: `write` is every right. */
export function rightsOf({ scope, rights }: Pick<KeyRow, 'scope' | 'rights'>): readonly Right[] {
  return RIGHTS.filter((right) => scope === 'write' || rights.includes(right));
}

/** How rights are stored: all of them are `write`, some are of scope `read`, for which a release without them takes the key. */
export function storedRights(rights: readonly Right[]): { readonly scope: 'read' | 'write'; readonly rights: Right[] } {
  const some = RIGHTS.filter((right) => rights.includes(right));
  return some.length === RIGHTS.length ? { scope: 'write', rights: [] } : { scope: 'read', rights: some };
}
