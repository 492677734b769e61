import { expect } from '@jest/globals';
import { PROBLEMS, type ProblemKind } from '../../src/contract/problems.js';
import type { Reply } from './http.js';

/** What a row of an error table promises. A `detail` text is exact, unless it ends with `…`: then it is a prefix. */
export interface Refusal {
  readonly status: number;
  readonly detail: string | RegExp;
  /** Locations of the failing fields, sorted; absent means that there are none. */
  readonly fields?: readonly string[];
}

const REQUEST_ID = expect.stringMatching(/^[0-9a-f]{16}$/);

/** The rules that hold for every problem are checked by the client itself (test/support/contract.ts). */
export function expectRefusal(reply: Reply, path: string, { status, detail, fields }: Refusal): void {
  const wanted =
    detail instanceof RegExp
      ? expect.stringMatching(detail)
      : detail.endsWith('…')
        ? expect.stringMatching(new RegExp(`^${escaped(detail.slice(0, -1))}`))
        : detail;
  // One look at all of it: thousands of refusals are looked at.
  const id = reply.headers.get('x-svc-request-id');
  expect({
    path,
    status: reply.status,
    detail: reply.body?.detail,
    type: reply.headers.get('content-type'),
    id,
    code: reply.body?.code,
    instance: reply.body?.instance,
  }).toEqual({
    path,
    status,
    detail: wanted,
    type: 'application/problem+json',
    id: REQUEST_ID,
    code: codeOf(String(reply.body?.detail), status),
    instance: `urn:supervisor:request:${id}`,
  });
  const located = (reply.body.errors as { location: string }[] | undefined)?.map((e) => e.location).sort();
  if (fields !== undefined) expect(located).toEqual([...fields].sort());
}

const kinds: readonly ProblemKind[] = Object.values(PROBLEMS);

/** What the catalogue has for a prefix and a status. */
function codeOf(detail: string, status: number): unknown {
  const prefix = detail.split(':', 1)[0];
  const codes = kinds.filter((kind) => kind.prefix === prefix && kind.status === status).map(({ code }) => code);
  return expect.stringMatching(new RegExp(`^(${[...new Set(codes)].join('|')})$`));
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
