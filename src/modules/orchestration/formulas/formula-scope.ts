import { problem } from '../../../contract/problems.js';
import type { CityConfig } from '../../files/composition/city-config.js';

/** How a request names the place whose formulas it means. */
export interface AskedScope {
  readonly scope_kind?: string | undefined;
  readonly scope_ref?: string | undefined;
}

/** The rig whose formulas are meant, '' for the city. @throws ProblemError invalid_request, scope_not_found */
export function rigOf({ scope_kind: kind, scope_ref: ref }: AskedScope, city: string, config: CityConfig, part: 'query' | 'body'): string {
  if (kind === undefined && ref === undefined)
    throw problem('invalid_request', 'scope_kind and scope_ref are required', { at: `${part}.scope_kind` });
  if (kind === undefined || ref === undefined)
    throw problem('invalid_request', 'scope_kind and scope_ref must be provided together', {
      at: `${part}.${kind === undefined ? 'scope_kind' : 'scope_ref'}`,
    });
  if (kind !== 'city' && kind !== 'rig')
    throw problem('invalid_request', "scope_kind must be 'city' or 'rig'", { at: `${part}.scope_kind`, value: kind });
  if (kind === 'city' && ref !== city) throw problem('scope_not_found', `city scope ${ref.slice(0, 100)} not found`);
  if (kind === 'rig' && !config.rigs.some(({ name }) => name === ref))
    throw problem('scope_not_found', `rig scope ${ref.slice(0, 100)} not found`);
  return kind === 'city' ? '' : ref;
}
