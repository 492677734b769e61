import { ApiError, CliError } from './errors.js';
import type { Io } from './io.js';

/** Who acts: what was typed, or the agent that this process runs for. @throws CliError when it is neither. */
export function whoOf(flag: string, typed: string | undefined, io: Io): string {
  const who = typed ?? io.env.SVC_AGENT;
  if (who === undefined || who.trim() === '') throw new CliError(`who are you? name the agent with ${flag} or SVC_AGENT`);
  return who;
}

/** Adds what to do next to a refusal of this status: `.catch(hinted(409, 'see …'))`. */
export function hinted(status: number, next: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ApiError) || error.status !== status) throw error;
    throw error.saying(`${error.message}; ${next}`);
  };
}
