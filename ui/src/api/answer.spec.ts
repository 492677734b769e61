import { describe, expect, it } from '@jest/globals';
import { answerOf } from './answer.js';

const headers = { 'content-type': 'application/json' };
const cutOff = (status: number): Response => new Response('{"items":[', { status, headers });

describe('what the service answers', () => {
  it('is its JSON, and nothing where there is none', async () => {
    expect(await answerOf(new Response('{"a":1}', { headers }))).toEqual({ a: 1 });
    expect(await answerOf(new Response(null, { status: 204 }))).toBeUndefined();
    expect(await answerOf(new Response('done', { headers: { 'content-type': 'text/plain' } }))).toBeUndefined();
  });

  it('is not taken for nothing where it is cut off, unless it is refused anyway', async () => {
    await expect(answerOf(cutOff(200))).rejects.toThrow();
    await expect(answerOf(cutOff(202))).rejects.toThrow();
    expect(await answerOf(cutOff(502))).toBeUndefined();
  });
});
