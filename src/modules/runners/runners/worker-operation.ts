import { WorkerOperation } from '../../../contract/events/workers.events.js';
import { event, type NewEvent } from '../../../platform/event-log/event.js';
import type { TurnUsage } from '../../../platform/runtime/port.js';
import { newId } from '../../../platform/time/clock.js';
import type { SessionChanges } from '../../sessions/session-store/session-changes.js';
import type { SessionRow } from '../../sessions/session-store/session-row.js';

export interface WorkerDoing {
  readonly operation: 'start' | 'stop' | 'kill' | 'message' | 'interrupt';
  readonly startedAt: Date;
  readonly error?: string | undefined;
  readonly delivered?: boolean | undefined;
  readonly usage?: TurnUsage | undefined;
}

/** `worker.operation`: what a runner has done to a process, and how long it took. */
export function workerOperation(changes: SessionChanges, row: SessionRow, doing: WorkerDoing): NewEvent {
  const { operation, startedAt, error, delivered, usage = {} } = doing;
  const finishedAt = new Date();
  const payload = {
    op_id: newId('op'),
    operation,
    result: error === undefined ? 'succeeded' : 'failed',
    started_at: startedAt.toISOString(),
    finished_at: finishedAt.toISOString(),
    duration_ms: Math.max(0, finishedAt.getTime() - startedAt.getTime()),
    session_id: row.id,
    session_name: row.session_name,
    template: row.template,
    provider: row.provider,
    transport: row.transport,
    agent_name: row.agent_name ?? undefined,
    error,
    delivered,
    model: usage.model,
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_creation_tokens: usage.cacheCreationTokens,
    cost_usd_estimate: usage.costUsd,
  };
  return event(WorkerOperation, { ...changes.facts(row), payload: withoutUndefined(payload) });
}

function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;
}
