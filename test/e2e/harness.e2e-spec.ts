import { describe, expect, it } from '@jest/globals';
import { startStack, QUEUES } from '../support/app.js';
import { api } from '../support/http.js';

describe.each(QUEUES)('the application on %s', (queue) => {
  it('starts two apis and a worker in one process, and nothing of them stays behind', async () => {
    const stack = await startStack({ queue });
    try {
      expect(stack.urls).toHaveLength(2);
      expect(new Set(stack.failpoints).size).toBe(3);
      expect((await api(stack.urls[0]!).get('/health')).status).toBeLessThan(500);
    } finally {
      await stack.stop();
    }
  });
});
