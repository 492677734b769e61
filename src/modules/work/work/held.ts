import { heldFrom, type Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { BeadRecord } from './bead-record.js';

/** Parks a bead: nobody is offered it, not even whoever has it under way (`is_held`). */
export const isHold = (label: string): boolean => label.startsWith('hold:');

/** What a session may not do to work that somebody else has under way, as it is once nobody else writes. @throws ProblemError forbidden */
export function requireNotHeld({ session }: Pick<Principal, 'session'>, bead: BeadRecord): void {
  const why = session && bead.status === 'in_progress' ? heldFrom(session, bead.id, bead.assignee) : undefined;
  if (why !== undefined) throw problem('forbidden', why);
}

/** The same, and also to what is assigned to somebody else who has yet to begin it. @throws ProblemError forbidden */
export function requireNotOthers(caller: Pick<Principal, 'session'>, bead: BeadRecord): void {
  requireNotHeld(caller, bead);
  const { session } = caller;
  if (session && bead.status !== 'closed' && heldFrom(session, bead.id, bead.assignee) !== undefined)
    throw problem('forbidden', `bead ${bead.id} is assigned to ${bead.assignee}`);
}
