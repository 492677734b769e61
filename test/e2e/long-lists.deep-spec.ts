import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { api, type Api } from '../support/http.js';
import { byCursor, CITY, LISTS } from '../support/long-lists.js';

/** What a page holds at most, as the document says, and its frame. */
const PAGE = 4 * 1024 * 1024 + 64 * 1024;

describe('a list of the longest rows', () => {
  let stack: Stack;
  let a: Api;
  let made = 0;

  beforeAll(async () => {
    stack = await startStack({ apis: 1, workers: 0 });
    a = api(stack.urls[0]!);
  });
  afterAll(() => stack.stop());

  it.each(Object.entries(LISTS))(
    '%s comes in pages of a bounded length, all of it',
    async (_, { path, rows, count, items = 'items', next = byCursor, of = () => true }) => {
      const city = `city${++made}`;
      const [{ stream_id: stream }] = (await adminAt(stack.databaseUrl, CITY, [city])) as [{ stream_id: number }];
      for (const statement of rows) await adminAt(stack.databaseUrl, statement, [stream]);
      const target = `${path.startsWith('/') ? path : `/v0/city/${city}/${path}`}${path.includes('?') ? '&' : '?'}limit=1000`;
      const seen: string[] = [];
      let pages = 0;
      for (let more: string | undefined = ''; more !== undefined; pages++) {
        const { status, body } = await a.get(more === '' ? target : `${target}&${more}`);
        expect(status).toBe(200);
        const found = body[items] as unknown[];
        expect(found.length === 1 || Buffer.byteLength(JSON.stringify(body)) < PAGE).toBe(true);
        // Whatever tells an item from the others is in its first members; their texts are all the same.
        seen.push(
          ...found
            .filter(of)
            .map((item) =>
              JSON.stringify(item, (name, value: unknown) => (typeof value === 'string' && value.length > 1_000 ? name : value)),
            ),
        );
        more = next(body);
      }
      expect(pages).toBeGreaterThan(1);
      expect(new Set(seen).size).toBe(count);
      expect(seen.length).toBe(count);
    },
  );
});
