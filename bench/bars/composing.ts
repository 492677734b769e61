import { monitorEventLoopDelay } from 'node:perf_hooks';
import { join } from 'node:path';
import { CityComposer } from '../../src/modules/configuration/config/city-composer.js';
import { TomlWork } from '../../src/modules/configuration/config/toml-work.js';
import { DirectoriesRepository } from '../../src/modules/files/directories/directories.repository.js';
import { DirectoriesService } from '../../src/modules/files/directories/directories.service.js';
import { AppConfig, loadConfig, type Config } from '../../src/platform/config/config.js';
import { ThreadOptions, Threads } from '../../src/platform/threads/threads.js';
import { bigCity, writeFiles } from '../lib/big-city.js';
import type { Bar } from '../lib/context.js';
import { sleep } from '../lib/machine.js';
import { ms, type Line } from '../lib/report.js';
import { median } from '../lib/stats.js';

type Files = readonly (readonly [path: string, text: string])[];

const START = '[workspace]\nprovider = "loopback"\n\n[providers.loopback]\nbase = "builtin:loopback"\n';
/** What a request may wait for others on the loop: a stream's slice and a few answers. */
const REACH_MS = 50;

export const composingBeside: Bar = {
  ids: ['C4'],
  title: 'the longest wait of the event loop while files are composed and edited',
  async run(context) {
    const root = join(context.tempDir, 'beside');
    const config = new AppConfig(loadConfig({ SVC_CITIES_ROOT: root }, context.tempDir) as Config);
    const threads = new Threads(new ThreadOptions());
    // They have no rigs outside of them: no database is asked.
    const composer = new CityComposer(config, new DirectoriesService(config, new DirectoriesRepository(), undefined as never), threads);
    const lines: Line[] = [];
    const cities: [name: string, what: string, files: Files][] = [
      ['small', 'compose a city of 12 agents', smallCity()],
      ['big', 'compose 20 packs, 500 agents, 300 formulas', bigCity()],
      ['wide', 'compose the dearest city: 376,000 values in 300 rigs', wideCity()],
    ];
    for (const [name, what, files] of cities) {
      await writeFiles(join(root, name), files);
      lines.push(await measured(what, context.rounds * 3, () => composer.compose({ name, path: join(root, name) }, {}, () => undefined)));
    }
    const toml = new TomlWork(threads, 'toml');
    const text = Array.from({ length: 19_000 }, (_, n) => `k${n} = ${n}\n`).join('');
    const document = Object.fromEntries(Array.from({ length: 19_000 }, (_, n) => [`k${n}`, n % 50]));
    lines.push(await measured('edit the dearest file: 230 KiB, nearly all of it', context.rounds, () => toml.edit(text, 'x', document)));
    await threads.stop();
    return lines;
  },
};

async function measured(what: string, rounds: number, work: () => Promise<unknown>): Promise<Line> {
  await work();
  const times: number[] = [];
  const waits: number[] = [];
  const delay = monitorEventLoopDelay({ resolution: 1 });
  for (let n = 0; n < rounds; n++) {
    delay.reset();
    delay.enable();
    // Only what comes after its first look at the loop is seen.
    await sleep(5);
    const started = performance.now();
    await work();
    times.push(performance.now() - started);
    // What has held the loop is told when it goes on.
    await sleep(5);
    delay.disable();
    waits.push(delay.max / 1e6);
  }
  const longest = median(waits);
  return {
    bar: 'C4',
    what,
    ours: `${ms(median(times))}, longest wait ${ms(longest)}`,
    floor: '',
    ratio: longest,
    reach: `≤ ${REACH_MS}`,
    met: longest <= REACH_MS,
  };
}

function smallCity(): Files {
  const agents = Array.from({ length: 12 }, (_, n) => n).flatMap((n): [string, string][] => [
    [`agents/a${n}/agent.toml`, `description = "Agent ${n}"\nmax_active_sessions = 2\nidle_timeout = "30m"\nenv = { AGENT = "a${n}" }\n`],
    [`agents/a${n}/prompt.md`, 'Take the next piece of work.\n'],
  ]);
  return [['city.toml', START], ['pack.toml', '[pack]\nname = "small"\nschema = 2\n'], ...agents];
}

/** A short file that stands for nearly as much as a city may be. */
function wideCity(): Files {
  const env = Array.from({ length: 1_250 }, (_, n) => `V${n} = "1"`).join();
  const rigs = Array.from({ length: 300 }, (_, n) => `[[rigs]]\nname = "r${n}"\n`).join('');
  return [
    ['city.toml', `${START}[imports.desk]\nsource = "packs/desk"\n${rigs}`],
    ['packs/desk/pack.toml', '[pack]\nname = "desk"\nschema = 2\n'],
    ['packs/desk/agents/a/agent.toml', `scope = "rig"\nenv = { ${env} }\n`],
    ['packs/desk/agents/a/prompt.md', 'Do it.\n'],
  ];
}
