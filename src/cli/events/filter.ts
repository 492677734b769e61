import { payloadMatches, type PayloadMatch } from './payload-match.js';

/** The members of an envelope that the client itself looks at. */
export interface Envelope {
  readonly type: string;
  readonly ts: string;
  readonly payload?: unknown;
  readonly subject?: string;
  readonly message?: string;
  readonly actor?: string;
  readonly city?: string;
  readonly seq?: number;
  readonly stream?: string;
}

export interface Filter {
  readonly type: string | undefined;
  readonly payload: readonly PayloadMatch[];
}

export function matches(envelope: Envelope, filter: Filter): boolean {
  if (filter.type !== undefined && envelope.type !== filter.type) return false;
  return payloadMatches(envelope.payload, filter.payload);
}
