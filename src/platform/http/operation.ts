import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import type { z } from 'zod';
import type { Right } from '../../contract/principal.js';
import type { ProblemName } from '../../contract/problems.js';

/** A frame kind of a server-sent event stream: the `event:` name and the schema of its `data`. */
export interface FrameSpec {
  readonly event: string;
  readonly data: z.ZodType;
  /** What the frame's `id` looks like; text unless said. */
  readonly id?: 'integer' | 'string';
}

/** Response headers that an operation may document beside `X-SVC-Request-Id`. */
export type ResponseHeader =
  | 'X-SVC-Index'
  | 'X-SVC-Cache-Age-S'
  | 'Retry-After'
  | 'Location'
  | 'ETag'
  | 'SVC-Session-State'
  | 'SVC-Session-Status'
  | 'SVC-Agent-Status';

/** What a key must be: with one right, good in all cities, or both with every right. */
export type Need = Right | 'all-cities' | 'administer';

/** The contract entry of a route: what the document says and what the front door has to know. */
export interface OperationSpec {
  /** The contract's operation id, unique; for what is ours a name that can be read. */
  readonly id: string;
  /** What it is called for short, unique, where the contract's id repeats its path. */
  readonly name?: string;
  readonly summary: string;
  readonly description?: string;
  /** The status of success; 200 unless said. */
  readonly status?: number;
  /** Further statuses of success, with the same body and headers of their own. */
  readonly also?: readonly { readonly status: number; readonly headers?: readonly ResponseHeader[] }[];
  /** The registered schema of the success body; absent means no body. */
  readonly response?: z.ZodType;
  /** The smallest body that its rules take, where they ask for more than its schema does. */
  readonly example?: Readonly<Record<string, unknown>> | string;
  /** The media type of the request's body when it is not JSON: then the handler gets it as text. */
  readonly consumes?: 'application/octet-stream';
  /** The media type of the success body when it is not JSON. */
  readonly contentType?: string;
  /** A stream of server-sent events instead of a body. */
  readonly stream?: readonly FrameSpec[];
  /** The stream may be over for good: then who resumes it gets 204. */
  readonly ends?: boolean;
  /** What it can fail with beyond what every operation can. */
  readonly problems?: readonly ProblemName[];
  readonly headers?: readonly ResponseHeader[];
  /** What a key must be allowed for it; most reads need nothing but a key. */
  readonly needs?: Need;
  /** A read that claims what it returns, so that others do not get it: the front door treats it as a mutation. */
  readonly claims?: boolean;
  /** Members of the body that say which command is run: a request with one of them needs the right `commands`, too. */
  readonly commands?: readonly string[];
  /** No key needed, also with `SVC_AUTH=keys`. */
  readonly public?: boolean;
  /** A public operation that tells more to callers with a key. */
  readonly knowsKeys?: boolean;
  /**
   * Called by other systems, which have neither a key nor our header and are no pages of a browser. All callers without a key share, for each city, the limits of
   * one key; a caller with a good key is known by it. The handler gets the body's bytes.
   */
  readonly foreign?: boolean;
  /**
   * Answered by a program of a city, which has rules of its own. Callers without a key are let in as anonymous, also with mutations; a key that is given has
   * to be good. The handler checks everything else.
   */
  readonly forwarded?: boolean;
  /**
   * Each connection plans the statements of this operation once. For operations that ask the same about a city or one thing of it, where one plan is as good as any:
   * planning was more than half of their work. Not for lists of beads, events, mail or sessions, whose best plan depends on the filters.
   */
  readonly plannedOnce?: boolean;
  readonly tag?: string;
}

/** A handler's parameter as its decorators declared it. */
export interface RouteParameter {
  /** One of RouteParamtypes, or undefined for a custom decorator. */
  readonly kind: number | undefined;
  readonly data: unknown;
  readonly schema: unknown;
  readonly factory: unknown;
}

/** The decorated parameters of a handler, read from Nest's metadata. */
export function routeParameters(controller: object, key: string | symbol): RouteParameter[] {
  const found = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, key) ?? {}) as Record<string, Omit<RouteParameter, 'kind'>>;
  return Object.entries(found).map(([id, { data, schema, factory }]) => {
    const kind = Number(id.split(':')[0]);
    return { kind: Number.isNaN(kind) ? undefined : kind, data, schema, factory };
  });
}
