import { Injectable } from '@nestjs/common';
import '../../../contract/events/all.js';
import { knownEvents } from '../../../contract/events/define.js';
import { maySee, type Principal } from '../../../contract/principal.js';
import { problem, type ProblemField } from '../../../contract/problems.js';
import { isDeeper } from '../../../platform/collections/nesting.js';
import { invalid } from '../../../platform/http/validation.pipe.js';
import { bodyHash } from '../../../platform/idempotency/canonical-json.js';
import { idempotencyMismatch } from '../../../platform/idempotency/idempotency.js';
import type { EventEmitOutputBody, EventEmitRequest } from './events.schemas.js';
import { EmitCommitter } from './emit-committer.js';
import { cityNotRunning } from './problems.js';
import { isReserved, RESERVED } from './reserved-kinds.js';

/** Rejected values and exceeded limits: what Postgres cannot store is the client's mistake. */
const UNSTORABLE = /^(22|54)/;

@Injectable()
export class EmitService {
  constructor(private readonly committer: EmitCommitter) {}

  async emit(city: string, body: EventEmitRequest, key: string | undefined, caller: Principal): Promise<EventEmitOutputBody> {
    if (!maySee(caller, city)) throw cityNotRunning(city);
    const text = itemText(city, body, key);
    const result = await this.committer.emit(city, text).catch((error: unknown) => {
      throw isUnstorable(error) ? refused({ message: 'holds a value that cannot be stored', location: 'body' }) : error;
    });
    if (result.outcome === 'not_running') throw cityNotRunning(city);
    if (result.outcome === 'mismatch') throw idempotencyMismatch();
    return { status: 'recorded', seq: result.seq! };
  }
}

/** The item as `emit_events` takes it. What Postgres would refuse is refused here, so that it spoils no batch. */
function itemText(city: string, body: EventEmitRequest, key: string | undefined): string {
  const { version, payload } = checked(body);
  const { type, actor, subject, message } = body;
  const event = { stream: city, type, version, actor, subject, message, payload };
  const text = JSON.stringify(key === undefined ? event : { ...event, key, hash: bodyHash(body).toString('hex') });
  if (SUSPECT.test(text) && !isStorable(JSON.parse(text)))
    throw refused({ message: 'holds characters that cannot be stored', location: 'body' });
  return text;
}

function checked(body: EventEmitRequest): { version: number; payload: unknown } {
  if (isReserved(body.type)) {
    const message = `is reserved: kinds beginning with ${RESERVED.join(', ')} are recorded by the supervisor itself`;
    throw refused({ message, location: 'body.type', value: body.type });
  }
  const payload = body.payload ?? {};
  if (isDeeper(payload, MAX_DEPTH)) throw refused({ message: `is nested deeper than ${MAX_DEPTH} levels`, location: 'body.payload' });
  const kept = body.type.startsWith('session.') ? 'session' : body.type.startsWith('bead.') ? 'bead' : undefined;
  const definition = knownEvents().get(body.type);
  if (definition === undefined) {
    if (kept !== undefined && Object.hasOwn(payload, kept))
      throw refused({ message: 'is recorded by the supervisor itself', location: `body.payload.${kept}` });
    return { version: 1, payload };
  }
  const parsed = definition.payload.safeParse(payload);
  if (!parsed.success) throw invalid(parsed.error, 'body.payload', payload);
  return { version: definition.version, payload: kept === undefined ? parsed.data : UNTOLD[kept](parsed.data as object) };
}

/** Who keeps a list believes what events say of a session, and of a bead with a revision: only what the service itself records says that. */
const UNTOLD = {
  session: ({ session: _, ...own }: { session?: unknown }): object => own,
  bead: ({ bead, ...own }: { bead?: object }): object => (bead === undefined ? own : { ...own, bead: { ...bead, revision: undefined } }),
};

/** Escapes of NUL and of lone surrogates; also matches some harmless texts, which are then looked at. */
const SUSPECT = /\\u(0000|d[89a-f])/;

function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => isStorable(name) && isStorable(member));
}

/** Deep enough for every sensible payload; whoever walks one, here or in Postgres, never runs out of stack. */
const MAX_DEPTH = 64;

function refused(field: ProblemField): Error {
  return problem('validation_failed', 'validation failed', { errors: [field] });
}

function isUnstorable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && UNSTORABLE.test(error.code);
}
