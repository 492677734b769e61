import { z } from 'zod';
import { contract } from '../registry.js';
import { int64 } from '../scalars.js';
import { defineEvent } from './define.js';

export const SupervisorStartedPayload = contract(
  'SupervisorStartedPayload',
  z.strictObject({ previous_exit: z.enum(['clean', 'crash', 'unknown']) }),
);
export const SupervisorShutdownPayload = contract(
  'SupervisorShutdownPayload',
  z.strictObject({
    mode: z.enum(['destructive', 'preserve_sessions', 'unknown']),
    source: z.enum(['signal', 'socket_stop']),
    client_addr: z.string().optional(),
    signal: z.string().optional(),
  }),
);
export const SupervisorRequestPayload = contract(
  'SupervisorRequestPayload',
  z.strictObject({
    duration_ms: int64,
    method: z.string(),
    origin_allowed: z.boolean(),
    path: z.string(),
    phase: z.enum(['start', 'complete']),
    remote_addr_class: z.enum(['loopback', 'private', 'public', 'unknown']),
    status: int64,
    host: z.string().optional(),
    request_id: z.string().optional(),
  }),
);
export const SupervisorFSPressureSkippedTickPayload = contract(
  'SupervisorFSPressureSkippedTickPayload',
  z.strictObject({
    avg60: z.number(),
    consecutive_skips: int64,
    max_consecutive_skips: int64,
    outcome: z.string(),
    threshold: z.number(),
    trigger: z.string().optional(),
  }),
);

export const SupervisorStarted = defineEvent('supervisor.started', 1, SupervisorStartedPayload);
export const SupervisorShutdownRequested = defineEvent('supervisor.shutdown_requested', 1, SupervisorShutdownPayload);
export const SupervisorRequest = defineEvent('supervisor.request', 1, SupervisorRequestPayload);
export const SupervisorFsPressureSkippedTick = defineEvent(
  'supervisor.fs_pressure.skipped_tick',
  1,
  SupervisorFSPressureSkippedTickPayload,
);
