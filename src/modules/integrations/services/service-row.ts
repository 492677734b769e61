import type { NewEvent } from '../../../platform/event-log/event.js';
import { event } from '../../../platform/event-log/event.js';
import { ServiceStateChanged } from '../../../contract/events/services.events.js';
import type { ServiceDefinition } from './service-definition.js';

export type State = 'starting' | 'ready' | 'degraded' | 'stopping' | 'stopped';
/** The same, and why it is degraded where the files are at fault. */
export type LocalState = State | 'config_error' | 'close_error';

/** As its events and answers have it. */
export interface Condition {
  readonly state: State;
  readonly localState: LocalState;
  /** One word. */
  readonly reason?: string | undefined;
  readonly detail?: string | undefined;
}

export interface ServiceRow {
  readonly pk: number;
  readonly stream_id: number;
  readonly name: string;
  readonly definition: ServiceDefinition;
  readonly present: boolean;
  /** It is to run, as far as it can. */
  readonly wanted: boolean;
  readonly generation: number;
  readonly state: State;
  readonly local_state: LocalState;
  readonly reason: string | null;
  readonly detail: string | null;
  readonly updated_at: Date;
  readonly worker: string | null;
  readonly lease_until: Date | null;
  readonly attempts: number;
  readonly failures: number;
  readonly retry_at: Date | null;
  /** Where its owner takes connections for it, and the process that they are meant for. */
  readonly address: string | null;
  readonly instance: string | null;
  readonly log_head: number;
}

/** What owners, and those who want something of them, hear. */
export const SERVICES_TOPIC = 'services';
/** Who speaks when nobody has asked for it. */
export const KEEPER = 'services';

export const conditionOf = (row: Pick<ServiceRow, 'state' | 'local_state' | 'reason' | 'detail'>): Condition => ({
  state: row.state,
  localState: row.local_state,
  reason: row.reason ?? undefined,
  detail: row.detail ?? undefined,
});

export const isSame = (a: Condition, b: Condition): boolean =>
  a.state === b.state && a.localState === b.localState && a.reason === b.reason && a.detail === b.detail;

const LONGEST = 1_000;

/** In words that a row, an event and an answer can have. */
export const worded = (why: string): string => why.replaceAll('\0', '').toWellFormed().slice(0, LONGEST);

export function stateEvent(stream: string, service: string, actor: string, { state, localState, reason, detail }: Condition): NewEvent {
  return event(ServiceStateChanged, {
    stream,
    actor,
    subject: service,
    payload: {
      service,
      state,
      local_state: localState,
      ...(reason === undefined ? {} : { reason }),
      ...(detail === undefined ? {} : { detail }),
    },
  });
}
