import { Injectable } from '@nestjs/common';
import { maySee, type Principal } from '../../contract/principal.js';
import { problem, type ProblemField } from '../../contract/problems.js';
import { knownEvents } from '../../contract/events/define.js';
import '../../contract/events/all.js';
import { bodyHash } from '../../platform/idempotency/canonical-json.js';
import type { EventEmitOutputBody, EventEmitRequest } from './events.schemas.js';
import { GroupCommitter } from './group-committer.js';
import { cityNotRunning } from './problems.js';

/** Kinds that only this product itself may record. */
const RESERVED = ['request.', 'supervisor.', 'city.', 'controller.', 'events.'];

/** Rejected values and exceeded limits: what Postgres cannot store is the client's mistake. */
const UNSTORABLE = /^(22|54)/;

@Injectable()
export class EmitService {
  constructor(private readonly committer: GroupCommitter) {}

  async emit(city: string, body: EventEmitRequest, key: string | undefined, caller: Principal): Promise<EventEmitOutputBody> {
    if (!maySee(caller, city)) throw cityNotRunning(city);
    const { version, payload } = check(body);
    const text = JSON.stringify({
      stream: city,
      type: body.type,
      version,
      actor: body.actor,
      subject: body.subject,
      message: body.message,
      payload,
      ...(key === undefined ? {} : { key, hash: bodyHash(body).toString('hex') }),
    });
    const result = await this.committer.emit(city, text).catch((error: unknown) => {
      throw unstorable(error) ? invalid([{ message: 'holds a value that cannot be stored', location: 'body' }]) : error;
    });
    if (result === undefined) throw cityNotRunning(city);
    if (result.outcome === 'mismatch') throw problem('idempotency_mismatch', 'Idempotency-Key reused with different request body');
    return { status: 'recorded', seq: result.seq };
  }
}

function check(body: EventEmitRequest): { version: number; payload: unknown } {
  if (RESERVED.some((prefix) => body.type.startsWith(prefix))) {
    throw invalid([
      { message: `is reserved: ${RESERVED.join(', ')} begin kinds of the supervisor itself`, location: 'body.type', value: body.type },
    ]);
  }
  const definition = knownEvents().get(body.type);
  if (definition === undefined) return { version: 1, payload: body.payload ?? {} };
  const parsed = definition.payload.safeParse(body.payload ?? {});
  if (parsed.success) return { version: definition.version, payload: parsed.data };
  throw invalid(parsed.error.issues.map((issue) => ({ message: issue.message, location: ['body.payload', ...issue.path].join('.') })));
}

function invalid(errors: readonly ProblemField[]): Error {
  return problem('validation_failed', 'validation failed', { errors });
}

function unstorable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && UNSTORABLE.test(error.code);
}
