import { expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { json, testServer, type Handler } from '../testing/server.js';

async function why(bead: object, more: Readonly<Record<string, Handler>> = {}): Promise<string> {
  const whole = { id: 'al-1', title: 'a', status: 'open', created_at: '2026-01-01T00:00:00Z', metadata: {}, ...bead };
  const server = await testServer({ '/v0/city/alpha/bead/al-1': (_request, response) => json(response, whole), ...more });
  const io = fakeIo();
  const code = await runCli(['why', 'al-1', '--city', 'alpha', '--api', server.url], io);
  await server.close();
  expect([code, io.stderr]).toEqual([0, '']);
  return io.stdout;
}

const root = { issue_type: 'molecule', metadata: { 'gc.routed_to': 'worker' } };

it('svc why of the root of a run says which steps are open, and not that somebody takes it', async () => {
  const progress = { total: 3, closed: 1, active: 0 };
  const told = await why(root, { '/v0/city/alpha/runs/al-1': (_request, response) => json(response, { run_id: 'al-1', progress }) });
  expect(told).toBe('bead al-1: open\n  2 of 3 steps of its run are open\n    ended by: the end of the last of them; svc run show al-1\n');
});

it('svc why of a molecule without a run says so', async () => {
  expect(await why(root)).toMatch(/ {2}nobody is offered it: it has no run\n {4}ended by: svc bead close al-1\n/);
});

it.each([{}, { 'gc.routed_to': 'worker' }])('svc why of a step that is in no queue says who closes it: %j', async (metadata) => {
  expect(await why({ issue_type: 'step', metadata })).toMatch(
    /in no queue: whoever does its run closes it\n {4}ended by: svc bead close al-1\n/,
  );
});
