import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { Bar, Context } from '../lib/context.js';
import { ms } from '../lib/report.js';
import { call, runningCity, until } from '../lib/running-city.js';
import type { Service } from '../lib/service.js';
import { quantile } from '../lib/stats.js';

const CLONES = 24;
const OPERATIONS = 40;

/** Operations of one city while another has three times as many clones that hang as a worker has places. */
export const fairShares: Bar = {
  ids: ['F1'],
  title: 'operations of a city beside 24 clones of another that hang, against without them',
  async run(context) {
    const hanging = createServer(() => undefined);
    await new Promise<void>((resolve) => hanging.listen(0, '127.0.0.1', resolve));
    context.onStop(async () => void hanging.close());
    const { port } = hanging.address() as AddressInfo;
    const env = { SVC_ALLOWED_TARGETS: `127.0.0.1:${port}`, SVC_PROVIDER_CHECK: 'off' };
    const service = await context.service(await context.postgres.database(0), { role: 'all', env });
    for (const city of ['calm', 'greedy']) await runningCity(context, service, city, []);
    await restarts(service, 5); // warm
    const quiet = await restarts(service, OPERATIONS);
    await attack(context, service, port);
    const attacked = await restarts(service, OPERATIONS);
    const ratio = quantile(attacked, 0.99) / quantile(quiet, 0.99);
    return [
      {
        bar: 'F1',
        what: 'a stop and a start of the other city, p99',
        ours: ms(quantile(attacked, 0.99)),
        floor: ms(quantile(quiet, 0.99)),
        ratio,
        reach: '≤ 2',
        met: ratio <= 2,
      },
    ];
  },
};

async function attack(context: Context, service: Service, port: number): Promise<void> {
  for (let n = 0; n < CLONES; n++) {
    const accepted = await call(service, 'POST', '/v0/city/greedy/rigs', { name: `hangs-${n}`, git_url: `http://127.0.0.1:${port}/hang` });
    if (accepted.status !== 202) throw new Error(`no clone: ${await accepted.text()}`);
  }
  context.say(`${CLONES} clones hang`);
}

/** Milliseconds from the request to the state, of pairs of a stop and a start. */
async function restarts(service: Service, many: number): Promise<number[]> {
  const took: number[] = [];
  for (let n = 0; n < many; n++) {
    const began = performance.now();
    for (const [step, ok] of [
      ['stop', false],
      ['start', true],
    ] as const) {
      await until(async () => (await call(service, 'POST', `/v0/city/calm/${step}`, {})).status === 202);
      await until(async () => (await call(service, 'GET', '/v0/city/calm')).ok === ok);
    }
    took.push(performance.now() - began);
  }
  return took;
}
