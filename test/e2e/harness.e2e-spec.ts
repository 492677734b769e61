import { describe, expect, it } from '@jest/globals';
import { DuePoller, startStack, QUEUES } from '../support/app.js';
import { api } from '../support/http.js';
import { openStream } from '../support/sse.js';

describe.each(QUEUES)('two apis and a worker on %s', (queue) => {
  it('create, stop, start and unregister a city while both apis stream it, and nothing of them stays behind', async () => {
    const stack = await startStack({ queue });
    try {
      const [a, b] = stack.urls.map((url) => api(url));
      const feed = await openStream(`${stack.urls[1]}/v0/events/stream`);
      expect(feed.response.status).toBe(200);
      const end = (id: string, type: string) => feed.until((f) => f.data?.type === type && f.data?.payload?.request_id === id);

      const created = await a!.post('/v0/city', { dir: 'harness', provider: 'loopback' });
      expect(created.status).toBe(202);
      await end(created.body.request_id, 'request.result.city.create');
      expect((await b!.get('/v0/city/harness')).status).toBe(200);

      for (const step of ['stop', 'start', 'unregister'] as const) {
        const accepted = await b!.post(`/v0/city/harness/${step}`);
        expect(accepted.status).toBe(202);
        await end(accepted.body.request_id, `request.result.city.${step}`);
      }
      expect((await a!.get('/v0/city/harness')).status).toBe(404);
      // It is one statement of all rooms: where one of them is wrong, everybody looks by himself.
      expect(await stack.apps.at(-1)!.app.get(DuePoller, { strict: false }).ask()).toBeInstanceOf(Set);
      await feed.close();
    } finally {
      await stack.stop();
    }
  });
});
