import { afterEach, describe, expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { problem, testServer, type TestServer } from '../testing/server.js';

const MAINTENANCE = '/v0/city/alpha/maintenance';
const OFF = 'maintenance_disabled: [maintenance.dolt] enabled=false in city.toml';
let server: TestServer;
afterEach(() => server.close());

describe('where a city has no maintenance', () => {
  it.each([[['status']], [['run', '--wait']], [['history']], [['history', '--watch']]])(
    '%j is refused, and says what to write',
    async (args) => {
      server = await testServer({
        [`${MAINTENANCE}/status`]: (_request, response) => problem(response, 503, OFF),
        [`${MAINTENANCE}/dolt-gc`]: (_request, response) => problem(response, 503, OFF),
      });
      const io = fakeIo({});
      const code = await runCli(['maintenance', ...args, '--api', server.url, '--city', 'alpha'], io);
      expect([code, io.stdout]).toEqual([4, '']);
      expect(io.stderr).toContain('; write `enabled = true` there');
    },
  );
});
