import type { Step, Where } from './formula.js';
import { inside, type Issues } from './issues.js';

const KINDS = ['scope', 'cleanup'];
const ROLES = ['body', 'setup', 'member', 'teardown'];
/** What a run writes down itself about its steps. */
const ENGINE =
  /^gc\.(?:outcome|failure_\w+|disposition|control_\w+|controller_\w+|root_\w+|logical_\w+|step_ref|step_timeout|formula_\w+|input_\w+|graphv2_\w+|var\..*|cancel_requested|last_finalize_error|instantiating|deferred_.*|attach_.*|max_attempts|on_exhausted|check_\w+|for_each|bond|bond_vars|fanout_\w+|drain_\w+)$/;

/** Metadata that the runtime reads says something that it understands. */
export function metadataRules(metadata: Readonly<Record<string, string>>, where: Where, issues: Issues): void {
  for (const key of Object.keys(metadata))
    if (ENGINE.test(key)) issues.error(inside(where, JSON.stringify(key)), 'is written by the run, not by a formula');
  const { 'gc.kind': kind, 'gc.scope_role': role, 'gc.scope_ref': ref, 'gc.scope_name': name, 'gc.on_fail': onFail } = metadata;
  const fault = (key: string, message: string, accepted?: readonly string[]): void =>
    issues.error(inside(where, JSON.stringify(key)), message, accepted);
  if (kind !== undefined && !KINDS.includes(kind)) fault('gc.kind', 'is made by the run; use the keys of a step for it', KINDS);
  if (role !== undefined && !ROLES.includes(role)) fault('gc.scope_role', 'is not one of the accepted values', ROLES);
  if (onFail !== undefined && onFail !== 'abort_scope') fault('gc.on_fail', 'must be abort_scope');
  if (onFail !== undefined && ref === undefined) fault('gc.on_fail', 'has no effect without gc.scope_ref');
  if (kind === 'scope' && ref !== undefined) fault('gc.scope_ref', 'a scope is no member of another one');
  if (kind === 'scope' && role !== undefined && role !== 'body') fault('gc.scope_role', 'must be body for a scope');
  if (kind !== 'scope' && role === 'body') fault('gc.scope_role', 'body needs gc.kind = "scope"');
  if (kind !== 'scope' && name !== undefined) fault('gc.scope_name', 'needs gc.kind = "scope"');
  if (role !== undefined && role !== 'body' && ref === undefined) fault('gc.scope_role', 'has no effect without gc.scope_ref');
}

/**
 * What cleans up is done itself, by whoever takes it: no run begins its rounds. Asked of flat steps, which have the
 * metadata of what they were expanded for too.
 */
export function cleaningRules({ metadata, where }: Pick<Step, 'metadata' | 'where'>, control: string, issues: Issues): void {
  const cleaning = [['gc.kind', 'cleanup'] as const, ['gc.scope_role', 'teardown'] as const];
  for (const [key, value] of cleaning)
    if (metadata[key] === value) issues.error(inside(where, control), `cannot stand beside ${key} = "${value}"`);
}
