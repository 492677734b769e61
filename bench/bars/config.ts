import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { CityComposer } from '../../src/modules/configuration/config/city-composer.js';
import { DirectoriesRepository } from '../../src/modules/files/directories/directories.repository.js';
import { DirectoriesService } from '../../src/modules/files/directories/directories.service.js';
import { AppConfig, loadConfig, type Config } from '../../src/platform/config/config.js';
import { ThreadOptions, Threads } from '../../src/platform/threads/threads.js';
import { bigCity, writeFiles } from '../lib/big-city.js';
import type { Bar, Context } from '../lib/context.js';
import { sleep } from '../lib/machine.js';
import { count, ms, type Line } from '../lib/report.js';
import { load, type Load } from '../lib/requests.js';
import { call, cityDir, runningCity, until } from '../lib/running-city.js';
import type { Service } from '../lib/service.js';
import { median, pairedRatio } from '../lib/stats.js';

const SIZE = '20 packs, 500 agents, 300 formulas';

export const composing: Bar = {
  ids: ['C1'],
  title: `composing a city of ${SIZE}, against reading the same files and parsing them with smol-toml`,
  async run(context) {
    const files = bigCity();
    const city = join(context.tempDir, 'compose', 'big');
    await writeFiles(city, files);
    const tomls = files.map(([path]) => join(city, path)).filter((path) => path.endsWith('.toml'));
    const config = new AppConfig(loadConfig({ SVC_CITIES_ROOT: join(context.tempDir, 'compose') }, context.tempDir) as Config);
    const threads = new Threads(new ThreadOptions());
    // It has no rigs outside of it: no database is asked.
    const composer = new CityComposer(config, new DirectoriesService(config, new DirectoriesRepository(), undefined as never), threads);
    const texts = await Promise.all(tomls.map((path) => readFile(path, 'utf8')));
    const parts = {
      ours: () => timed(() => composer.compose({ name: 'big', path: city }, {}, () => undefined)),
      parsing: () => timed(() => Promise.resolve(texts.map((text) => parse(text)))),
      floor: () =>
        timed(async () => {
          for (const path of tomls) parse(await readFile(path, 'utf8'));
        }),
    };
    await context.turns(parts, 3); // warm
    const runs = await context.turns(parts, 15);
    const line = (what: string, floor: readonly number[]): Line => {
      const ratio = pairedRatio(runs.ours, floor);
      return { bar: 'C1', what, ours: ms(median(runs.ours)), floor: ms(median(floor)), ratio, reach: '≤ 3', met: ratio <= 3 };
    };
    await threads.stop();
    return [
      line(`compose ${SIZE}, from disk, against reading and parsing the TOML files`, runs.floor),
      line('the same against parsing alone, texts in memory', runs.parsing),
    ];
  },
};

export const configRead: Bar = {
  ids: ['C2'],
  title: `GET config of a city of ${SIZE}, against bare Fastify and one read of the same bytes`,
  async run(context) {
    const url = await context.postgres.database(1);
    const service = await context.service(url, { role: 'all' });
    const bytes = Buffer.byteLength(await bigCityOf(context, service, 'read'));
    const floor = await context.floor('http', { url });
    const client = await context.client('http');
    const requests = (port: number, path: string) => (): Promise<Load> =>
      load(client, context.tempDir, { port, paths: [path], connections: 16, seconds: context.seconds });
    const parts = { ours: requests(service.port, '/v0/city/read/config'), floor: requests(floor.port, '/config') };
    await context.warm(parts);
    const runs = await context.turns(parts);
    const ratio = pairedRatio(
      runs.ours.map((run) => run.perSecond),
      runs.floor.map((run) => run.perSecond),
    );
    const refused = runs.ours.some((run) => run.refused > 0) || runs.floor.some((run) => run.refused > 0);
    return [
      {
        bar: 'C2',
        what: `GET config, ${Math.round(bytes / 1024)} KiB${refused ? ' (not all answers were 2xx)' : ''}`,
        ours: `${count(median(runs.ours.map((run) => run.perSecond)))}/s`,
        floor: `${count(median(runs.floor.map((run) => run.perSecond)))}/s`,
        ratio,
        reach: '≥ 0.7',
        met: !refused && ratio >= 0.7,
      },
    ];
  },
};

export const configChange: Bar = {
  ids: ['C3'],
  title: `from a changed file to every replica's answer, city of ${SIZE}`,
  async run(context) {
    const url = await context.postgres.database(1);
    const services = [await context.service(url, { role: 'all' }), await context.service(url)];
    await bigCityOf(context, services[0]!, 'change');
    const file = join(cityDir(context, 'change'), 'city.toml');
    const text = await readFile(file, 'utf8');
    const delays: number[] = [];
    for (let n = 1; n <= context.rounds * 3; n++) {
      await sleep(300 + 70 * n);
      const started = performance.now();
      await writeFile(file, text.replace('[workspace]\n', `[workspace]\nmax_active_sessions = ${n}\n`));
      await Promise.all(services.map((service) => shows(service, n)));
      delays.push(performance.now() - started);
    }
    const slowest = Math.max(...delays);
    const ours = `p50 ${ms(median(delays))}, slowest ${ms(slowest)}`;
    return [{ bar: 'C3', what: 'a changed file at two replicas', ours, floor: '', ratio: slowest, reach: '≤ 1000', met: slowest <= 1000 }];
  },
};

/** A running city of that size; answers its configuration. */
async function bigCityOf(context: Context, service: Service, name: string): Promise<string> {
  await runningCity(context, service, name, bigCity());
  return (await call(service, 'GET', `/v0/city/${name}/config`)).text();
}

async function shows(service: Service, n: number): Promise<void> {
  await until(async () => {
    const { workspace } = (await (await call(service, 'GET', '/v0/city/change/config')).json()) as { workspace: Record<string, unknown> };
    return workspace.max_active_sessions === n;
  });
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}
