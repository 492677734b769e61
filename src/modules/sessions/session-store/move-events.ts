import {
  SessionArchived,
  SessionClosed,
  SessionDraining,
  SessionQuarantined,
  SessionStartFailed,
  SessionStarting,
  SessionStopped,
  SessionSuspended,
  SessionUndrained,
  SessionWakeRequested,
  SessionWoke,
} from '../../../contract/events/sessions.events.js';
import { event, type NewEvent } from '../../../platform/event-log/event.js';
import type { SessionRow } from './session-row.js';
import type { SessionCommand } from './session-states.js';

/** The envelope of an event about a session. */
export interface EventFacts {
  readonly stream: string;
  readonly actor: string;
  readonly subject: string;
  readonly session_id: string;
  readonly message?: string;
}

/** What is told of a session that a command has moved. */
export function moveEvent(command: SessionCommand, facts: EventFacts, before: SessionRow, after: SessionRow): NewEvent {
  const why = after.reason ?? undefined;
  const told = why === undefined || facts.message !== undefined ? facts : { ...facts, message: why };
  const payload = {
    session_id: after.id,
    from: before.state,
    to: after.state,
    generation: after.generation,
    ...(why === undefined ? {} : { reason: why }),
  };
  switch (command) {
    case 'start':
      return event(SessionStarting, { ...facts, payload });
    case 'ready':
      return event(SessionWoke, { ...facts, payload: {} });
    case 'fail_start':
      return event(SessionStartFailed, { ...told, payload });
    case 'sleep': {
      const lifecycle = { session_id: after.id, template: after.template, ...(why === undefined ? {} : { reason: why }) };
      return event(SessionStopped, { ...told, payload: lifecycle });
    }
    case 'suspend':
      return event(SessionSuspended, { ...told, payload: {} });
    case 'wake':
      return event(SessionWakeRequested, { ...facts, payload });
    case 'quarantine':
      return event(SessionQuarantined, { ...told, payload: {} });
    case 'drain':
      return event(SessionDraining, { ...told, payload: {} });
    case 'undrain':
      return event(SessionUndrained, { ...told, payload: {} });
    case 'archive':
      return event(SessionArchived, { ...told, payload });
    case 'close':
      return event(SessionClosed, { ...told, payload });
  }
}
