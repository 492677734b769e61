import { ApiProblem } from '../../client/problems.js';
import { ApiError } from '../errors.js';
import { hinted } from '../identity.js';

/** What to do where an order is not there, is not enabled or lacks a value: `.catch(ofOrder('nightly'))`. */
export function ofOrder(name: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 404) return hinted(404, 'see `svc order list`')(error);
    // What the service has said: the message may go on with a try before it.
    const said = error.cause instanceof ApiProblem ? error.cause.detail : error.message;
    if (said.endsWith('is disabled')) return hinted(error.status, enabling(name))(error);
    if (error.message.includes('missing required param')) return hinted(error.status, 'give it with --var <name=value>')(error);
    throw error;
  };
}

export const enabling = (name: string): string => `\`svc order enable ${name}\` lets it come`;
