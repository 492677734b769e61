import { z } from 'zod';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';
import { defineEvent } from './define.js';

export const SupervisorStartedPayload = contract(
  'SupervisorStartedPayload',
  z.strictObject({ previous_exit: z.enum(['clean', 'crash', 'unknown']).describe('How the process before ended.') }),
  'A process of the supervisor has started.',
);
export const SupervisorShutdownPayload = contract(
  'SupervisorShutdownPayload',
  z.strictObject({
    mode: z.enum(['destructive', 'preserve_sessions', 'unknown']).describe('What becomes of sessions.'),
    source: z.enum(['signal', 'socket_stop']).describe('What asked for it.'),
    client_addr: z.string().optional().describe('Who asked for it.'),
    signal: z.string().optional(),
  }),
  'A process of the supervisor is to end.',
);
export const SupervisorRequestPayload = contract(
  'SupervisorRequestPayload',
  z.strictObject({
    duration_ms: int64,
    method: z.string(),
    origin_allowed: z.boolean().describe('Whether the page that asked may.'),
    path: z.string().describe('The path that was asked for.'),
    phase: z.enum(['start', 'complete']).describe('Whether the request began or ended.'),
    remote_addr_class: z.enum(['loopback', 'private', 'public', 'unknown']).describe('From where it was asked.'),
    status: int64.describe('The HTTP status of the answer; 0 at the start.'),
    host: z.string().optional().describe('The host that was asked for.'),
    request_id: z.string().optional(),
  }),
  'A request to the supervisor.',
);
export const SupervisorFSPressureSkippedTickPayload = contract(
  'SupervisorFSPressureSkippedTickPayload',
  z.strictObject({
    avg60: z.number().describe('The pressure in the last minute, from 0 to 100.'),
    consecutive_skips: int64.describe('How often in a row it was skipped.'),
    max_consecutive_skips: int64.describe('How often in a row it may be skipped.'),
    outcome: z.string(),
    threshold: z.number().describe('From which pressure on it is skipped.'),
    trigger: z.string().optional(),
  }),
  'Something was put off because the disk is busy.',
);

export const SupervisorStarted = defineEvent(
  'supervisor.started',
  1,
  SupervisorStartedPayload,
  'A process has started; the payload says how the one before ended.',
);
export const SupervisorShutdownRequested = defineEvent(
  'supervisor.shutdown_requested',
  1,
  SupervisorShutdownPayload,
  'A process was asked to stop.',
);
export const SupervisorRequest = defineEvent(
  'supervisor.request',
  1,
  SupervisorRequestPayload,
  'A request was answered. Known for clients; here `svc audit` and the log have them.',
);
export const SupervisorFsPressureSkippedTick = defineEvent(
  'supervisor.fs_pressure.skipped_tick',
  1,
  SupervisorFSPressureSkippedTickPayload,
  'A look was left out because the disk is busy. Known for clients; nothing here emits it.',
);
