import { hash } from 'node:crypto';
import type { SessionRow } from '../session-store/session-row.js';

/** Hexadecimal. So few do: to meet, two sessions would need the same name in their cities as well. */
const DIGITS = 8;
/** As long as the name of a session may be; what scripts call sessions by often has to be a name of a host. */
const CHARACTERS = 64;

/**
 * What a script knows a session by. Cities, also of other deployments, may share a script, and the name of a session is unique in its
 * city alone.
 */
export function scriptName({ session_name, id }: Pick<SessionRow, 'session_name' | 'id'>, city: string, deployment: string): string {
  const beginning = session_name.slice(0, CHARACTERS - DIGITS - 1);
  return `${beginning}-${hash('sha256', [deployment, city, id].join('/')).slice(0, DIGITS)}`;
}
