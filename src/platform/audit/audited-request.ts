import { AsyncLocalStorage } from 'node:async_hooks';

/** What is told of a request that may change something: who, from where, what, of what, and how it ended. Never a body or a secret. */
export interface AuditEntry {
  readonly request_id: string;
  /** The API key; null for a session, for nobody, and where no keys are asked for. */
  readonly key_id: string | null;
  /** The name of the key, or the one that the session works under; null for nobody. */
  readonly actor: string | null;
  readonly session_id: string | null;
  readonly session_city: string | null;
  /** Of whoever has connected: of the last proxy, when there is one. */
  readonly address: string;
  readonly operation: string;
  readonly method: string;
  /** The template of the path. */
  readonly path: string;
  readonly city: string | null;
  /** The other parameters of the path. */
  readonly ids: Readonly<Record<string, string>>;
  /** Until the request is answered: what it is answered with when it succeeds. */
  readonly status: number;
  /** The code of the problem that it was refused with. */
  readonly code: string | null;
  /** Why nobody was let in. */
  readonly reason: string | null;
}

/** The end of an operation that was accepted to go on in the background is told by events that name this. */
interface Accepted {
  readonly operationRequestId: string;
  /** The city that it is about, also when the path does not name it. */
  readonly city: string;
}

/** A request at work. The first transaction of it that commits has its record. */
export class AuditedRequest {
  /** Whether the record is committed. */
  recorded = false;
  /** What the open transaction has accepted. */
  accepted: Accepted | undefined;

  /** @param forwarded a program of a city has answered it: what it has changed is not ours */
  constructor(
    readonly entry: AuditEntry,
    readonly forwarded = false,
  ) {}
}

const requests = new AsyncLocalStorage<AuditedRequest | undefined>();

/** The request on whose behalf this runs, when it is one that may change something. */
export function audited(): AuditedRequest | undefined {
  return requests.getStore();
}

/** Runs `work`, and what it starts, on behalf of a request; with undefined on nobody's. */
export function onBehalfOf<T>(request: AuditedRequest | undefined, work: () => T): T {
  return requests.run(request, work);
}
