import { problem } from '../../../contract/problems.js';
import type { PositionSeal } from '../../../platform/streams/position-seal.js';
import type { Place, Position } from './audit-reads.repository.js';

/**
 * Places in the list and positions of the stream, as clients have them: known again by the deployment's secret, and hidden by it,
 * since they tell how much is done in cities that somebody may not see.
 */
const PLACE = 'al:';
const POSITION = 'as:';
const PAIR = /^(\d{1,16}) (\d{1,16})$/;

export const formatPlace = ({ us, id }: Place, seal: PositionSeal): string => PLACE + seal.hide(`${PLACE}${us} ${id}`);
export const formatPosition = ({ xid, id }: Position, seal: PositionSeal): string => POSITION + seal.hide(`${POSITION}${xid} ${id}`);

/** @throws 400 invalid_cursor for what this deployment has not handed out */
export function parsePlace(text: string, seal: PositionSeal): Place {
  const [us, id] = parsed(text, PLACE, seal) ?? refuse('cursor is not a page token of this list', 'query.cursor');
  return { us, id };
}

/** @throws 400 invalid_cursor for what this deployment has not handed out */
export function parsePosition(text: string, what: string, at: string, seal: PositionSeal): Position {
  const [xid, id] = parsed(text, POSITION, seal) ?? refuse(`${what} is not a position of this stream`, at);
  return { xid, id };
}

function parsed(text: string, prefix: string, seal: PositionSeal): [number, number] | undefined {
  const shown = text.startsWith(prefix) ? seal.reveal(text.slice(prefix.length)) : undefined;
  const [, a, b] = (shown?.startsWith(prefix) === true ? PAIR.exec(shown.slice(prefix.length)) : null) ?? [];
  return a === undefined || b === undefined ? undefined : [Number(a), Number(b)];
}

function refuse(message: string, at: string): never {
  throw problem('invalid_cursor', message, { at });
}
