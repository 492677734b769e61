import type { z } from 'zod';
import type { EventDefinition } from '../../contract/events/define.js';

/** One event ready to be appended. Build it with `event` (known kinds) or `customEvent`. */
export interface NewEvent {
  readonly stream: string;
  readonly type: string;
  readonly version: number;
  readonly actor: string;
  readonly subject?: string | undefined;
  readonly message?: string | undefined;
  readonly payload: unknown;
  readonly run_id?: string | undefined;
  readonly session_id?: string | undefined;
  readonly step_id?: string | undefined;
  readonly depends_on_step_ids?: readonly string[] | undefined;
}

type Facts = Omit<NewEvent, 'type' | 'version' | 'payload'>;

/**
 * A known event; its payload is checked against the kind's schema now, so nothing unreadable is ever stored.
 *
 * @throws ZodError when the payload does not fit: a mistake of the caller, not of a client.
 */
export function event<P extends z.ZodType>(definition: EventDefinition<P>, facts: Facts & { readonly payload: z.input<P> }): NewEvent {
  return { ...facts, type: definition.type, version: definition.version, payload: definition.payload.parse(facts.payload) };
}

/** Where an event went. `seq` is its place in its stream. */
export interface AppendedEvent {
  readonly stream: string;
  readonly streamId: number;
  readonly seq: number;
  readonly ts: Date;
}
