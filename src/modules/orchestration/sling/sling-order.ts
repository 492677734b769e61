import type { SessionCaller } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { SlingOptions } from './sling.schemas.js';
import type { Target } from '../../configuration/roster/target.js';

/** What is asked for, checked: everything about a sling but its bead. */
export interface SlingOrder {
  readonly target: Target;
  readonly merge: string | undefined;
  readonly owned: boolean;
  readonly noConvoy: boolean;
  readonly reassign: boolean;
  readonly force: boolean;
  /** The session that asks, if one does. */
  readonly session: SessionCaller | undefined;
}

const MERGES: readonly string[] = ['direct', 'mr', 'local'];
const SCOPES: readonly string[] = ['city', 'rig'];

/** The rig in which a bare target is looked for; empty when the request names none. */
export function rigContext({ scope_kind: kind, scope_ref: ref, rig }: SlingOptions): string {
  return (kind === 'rig' ? ref : undefined) || rig || '';
}

/**
 * Checks what can be wrong with the options themselves; the first fault is the one that is told. An empty text counts
 * as not given.
 *
 * @throws ProblemError invalid_request
 */
export function toOrder(options: SlingOptions, target: Target, city: string, session: SessionCaller | undefined): SlingOrder {
  requireScope(options, city);
  if (options.owned && options.no_convoy) throw invalid('owned requires a convoy (cannot use with no_convoy)', 'body.owned');
  const merge = options.merge || undefined;
  if (merge !== undefined && !MERGES.includes(merge)) throw invalid("merge must be 'direct', 'mr', or 'local'", 'body.merge');
  requireTargetInScope(options, target);
  return {
    target,
    merge,
    owned: options.owned ?? false,
    noConvoy: options.no_convoy ?? false,
    reassign: options.reassign ?? false,
    force: options.force ?? false,
    session,
  };
}

function requireScope({ scope_kind: kind, scope_ref: ref }: SlingOptions, city: string): void {
  if (!kind !== !ref) throw invalid('scope_kind and scope_ref must be provided together', kind ? 'body.scope_ref' : 'body.scope_kind');
  if (kind && !SCOPES.includes(kind)) throw invalid("scope_kind must be 'city' or 'rig'", 'body.scope_kind');
  if (kind === 'city' && ref !== city) throw invalid(`scope_ref ${ref} is not this city`, 'body.scope_ref');
}

function requireTargetInScope({ scope_kind: kind, scope_ref: ref, rig }: SlingOptions, target: Target): void {
  if (kind !== 'rig') return;
  if (target.rig === '')
    throw invalid(`scope_ref ${ref} requires a rig-scoped target; resolved target ${target.name} is city-scoped`, 'body.scope_ref');
  if (target.rig !== ref) throw invalid(`scope_ref ${ref} conflicts with resolved target rig ${target.rig}`, 'body.scope_ref');
  if (rig && rig !== ref) throw invalid(`rig ${rig} conflicts with scope_ref ${ref}`, 'body.rig');
}

export function invalid(message: string, location: string): Error {
  return problem('invalid_request', message, { errors: [{ message, location }] });
}
