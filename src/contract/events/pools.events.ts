import { defineEvent } from './define.js';
import { SessionLifecyclePayload } from './sessions.events.js';

/** A session was alive and nothing came of it for longer than the city allows; it is being restarted. */
export const SessionStalled = defineEvent(
  'session.stalled',
  1,
  SessionLifecyclePayload,
  'A session was alive and nothing came of it for longer than the city allows; it is being restarted.',
);
