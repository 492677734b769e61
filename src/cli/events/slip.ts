import { nearest } from '../../contract/nearest.js';
import type { Io } from '../io.js';
import { plain } from '../table.js';

/**
 * Says that no event of the service has this type, where another one was meant. Programs have types of their own; those nobody knows.
 * What the service has is loaded here alone: it takes as long as all else that a call does.
 */
export async function tellSlip(type: string | undefined, io: Io): Promise<void> {
  if (type === undefined) return;
  if (type.includes('*')) return io.err(`svc events: --type takes a whole type, and no pattern: ${plain(type)}\n`);
  await import('../../contract/events/all.js');
  const { knownEvents } = await import('../../contract/events/define.js');
  const known = knownEvents();
  const meant = known.has(type) ? undefined : nearest(type, [...known.keys()]);
  if (meant !== undefined) io.err(`svc events: ${plain(type)} is no event of the service; did you mean ${meant}?\n`);
}
