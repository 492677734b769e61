import { PROBLEMS, type ProblemKind } from '../../src/contract/problems.js';
import type { Answer } from './contract.js';

/** What must hold for the body of any refusal, whoever raised it. */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly code: string;
  readonly errors?: readonly { readonly message: string; readonly location: string; readonly value?: unknown }[];
}

const kinds: readonly ProblemKind[] = Object.values(PROBLEMS);

export function problemFaults(answer: Answer, text: string): string[] {
  const found: string[] = [];
  const type = answer.headers.get('content-type');
  if (type !== 'application/problem+json') return [`a refusal of type ${type}`];
  let body: ProblemBody;
  try {
    body = JSON.parse(text) as ProblemBody;
  } catch {
    return ['a refusal that is not JSON'];
  }
  for (const name of ['type', 'title', 'detail', 'instance', 'code'] as const) {
    if (typeof body[name] !== 'string' || body[name] === '') found.push(`problem without ${name}`);
  }
  if (found.length > 0) return found;
  // Kinds that differ in their prefix only are one to a client.
  const fitting = kinds.filter((k) => k.code === body.code && k.status === answer.status && k.title === body.title);
  const kind = fitting.find((k) => body.detail.startsWith(`${k.prefix}: `));
  if (fitting.length === 0) found.push(`the catalogue has no "${body.title}" ${body.code} ${answer.status}`);
  if ([400, 422].includes(answer.status) && !(body.errors ?? []).some((e) => e.message && e.location)) found.push('no place in errors');
  if (body.status !== answer.status) found.push(`status ${body.status} in the body of a ${answer.status}`);
  if (body.type !== `urn:supervisor:error:${body.code}`) found.push(`type ${body.type}`);
  if (kind === undefined) found.push('detail does not begin with the prefix');
  if (!/^urn:supervisor:request:[0-9a-f]{16}$/.test(body.instance)) found.push(`instance ${body.instance}`);
  if (kind?.retryAfter !== undefined && !/^[1-9]\d*$/.test(answer.headers.get('retry-after') ?? '')) found.push('no Retry-After');
  if (answer.status === 401 && answer.headers.get('www-authenticate') === null) found.push('401 without WWW-Authenticate');
  if (answer.status === 405 && !answer.headers.get('allow')) found.push('405 without Allow');
  return [...found, ...leaks(body)];
}

/** Signs of something that is nobody's business: SQL, stacks, paths of the host, names from inside. */
const SIGNS: readonly (readonly [string, RegExp])[] = [
  [
    'SQL',
    /\b(select\b.+\bfrom\b|insert into|update\b.+\bset\b|delete from|on conflict|returning\b|syntax error at|relation "|column "|sqlstate|violates|duplicate key)/i,
  ],
  ['a stack', /(^|\s)at \S+ \(|node:internal|node_modules|\.(ts|js|mjs):\d+/],
  [
    'an error class',
    /\b(Type|Range|Reference|Syntax|Zod|Database|Aggregate|Problem)Error\b|\bFST_[A-Z_]+|\bERR_[A-Z_]+|is not a function|Cannot read propert|undefined is not/,
  ],
  [
    'a name from inside',
    /\b(kysely|bullmq|ioredis|redis|postgres(ql)?|pg_[a-z]+|nestjs|fastify|emit_events|event_streams|city_reservations|api_keys|advisory)\b/i,
  ],
  ['an address', /\b\d{1,3}(\.\d{1,3}){3}:\d+\b|postgres:\/\/|redis:\/\//],
];
const HOST_PATH = /(^|[\s"'(])\/(tmp|home|root|var|usr|etc|work|app|data|opt|srv)\/[\w.]/;
/** Where the contract itself asks for the path of a city. */
const PATH_ASKED = [/^conflict: (city|.* is )/, /^validation_failed: invalid city directory: /];

/** What a problem says beyond what its reader sent: echoes (`instance`, `value`, `location`) are not looked at. */
export function leaks(body: ProblemBody): string[] {
  // What the detail says already, the place repeats.
  const messages = (body.errors ?? []).map((e) => e.message).filter((message) => !body.detail.endsWith(`: ${message}`));
  const said = [body.detail, body.title, ...messages];
  const found = SIGNS.flatMap(([what, sign]) => said.filter((text) => sign.test(text)).map((text) => `leaks ${what}: ${text}`));
  const withPath = said.filter((text) => HOST_PATH.test(text) && !PATH_ASKED.some((asked) => asked.test(text)));
  // A path that the client itself named may come back.
  const unasked = withPath.filter((text) => !/^(not_found|invalid|invalid_cursor): /.test(text));
  return [...found, ...unasked.map((text) => `leaks a path of the host: ${text}`)];
}
