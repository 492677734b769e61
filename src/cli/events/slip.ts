import { nearest } from '../../contract/nearest.js';
import type { Io } from '../io.js';
import { plain } from '../table.js';
import { EVENT_TYPES } from './types.gen.js';

/** Says that no event of the service has this type, where another one was meant. Programs have types of their own; those nobody knows. */
export function tellSlip(path: string, type: string | undefined, io: Io): void {
  if (type === undefined) return;
  if (type.includes('*')) return io.err(`${path}: --type takes a whole type, and no pattern: ${plain(type)}\n`);
  const meant = EVENT_TYPES.includes(type) ? undefined : nearest(type, EVENT_TYPES);
  if (meant !== undefined) io.err(`${path}: ${plain(type)} is no event of the service; did you mean ${meant}?\n`);
}
