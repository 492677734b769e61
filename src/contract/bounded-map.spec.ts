import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { boundedMap } from './bounded-map.js';
import { ExtMsgParticipantUpsertInputBody } from '../modules/integrations/extmsg/groups/groups.schemas.js';
import { FormulaPreviewBody } from '../modules/orchestration/formulas/formulas.schemas.js';
import { MoleculeCreateInputBody } from '../modules/orchestration/runs/molecules.schemas.js';
import { SlingBatchInputBody, SlingInputBody } from '../modules/orchestration/sling/sling.schemas.js';
import { SessionRespondInputBody } from '../modules/sessions/interactions/interactions.schemas.js';
import { SessionCreateBody } from './sessions.schemas.js';

const schema = z.strictObject({ env: boundedMap(z.record(z.string().max(4), z.string()), 2, 'must have at most 2 entries') });
const told = (body: unknown): unknown => schema.safeParse(body).error?.issues.map(({ path, message }) => [path.join('.'), message]);

it('takes a map that is not too large as the map itself does', () => {
  expect(schema.parse({ env: { a: 'b', c: 'd' } })).toEqual({ env: { a: 'b', c: 'd' } });
  expect(told({ env: { a: 1, b: 2 } })).toEqual([
    ['env.a', expect.any(String)],
    ['env.b', expect.any(String)],
  ]);
  for (const env of [undefined, null, 'text', ['a', 'b', 'c']]) expect(told({ env })).toEqual([['env', expect.stringMatching(/record/)]]);
  expect(told({})).toEqual([['env', expect.stringMatching(/record/)]]);
});

it('says one thing of a map that is too large, whatever is wrong in it', () => {
  const env = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`too long ${n}`, n]));
  expect(told({ env })).toEqual([['env', 'must have at most 2 entries']]);
});

it.each([
  ['the options of a session', SessionCreateBody, 'options', 500],
  ['the values of a sling', SlingInputBody, 'vars', 200],
  ['the values of a batch', SlingBatchInputBody, 'vars', 200],
  ['the values of a molecule', MoleculeCreateInputBody, 'vars', 200],
  ['the values of a preview', FormulaPreviewBody, 'vars', 200],
  ['what is known of a participant', ExtMsgParticipantUpsertInputBody, 'metadata', 64],
  ['what is said with an answer', SessionRespondInputBody, 'metadata', 200],
])('bounds %s', (_what, body, member, most) => {
  const issues = (count: number): readonly string[] => {
    const map = Object.fromEntries(Array.from({ length: count }, (_, n) => [`o${n}`, 'x']));
    return (body.safeParse({ [member]: map }).error?.issues ?? []).filter(({ path }) => path[0] === member).map(({ message }) => message);
  };
  expect([issues(most), issues(most + 1)]).toEqual([[], [expect.stringContaining(` ${most} `)]]);
});
