import { access, readdir, readFile } from 'node:fs/promises';
import { parse } from 'smol-toml';
import { composedView, isShown, listedView } from './config-views.js';
import type { Member } from './fleet.js';
import type { ConfigEnd, ConfigView } from './history-config.js';
import { ask } from './http.js';
import type { Random } from './random.js';
import type { Recorder } from './recorder.js';
import type { ChaosPostgres } from './servers.js';
import { sleep } from './sleep.js';

const WITHIN_MS = 20_000;

const ROWS = `
  select s.name as city, coalesce(c.running, false) as running, t.revision::float8 as revision, t.rejected is not null as rejected,
    (select count(*)::int from config_edits e where e.stream_id = s.id) as held,
    array(select r.revision::float8 from config_revisions r where r.stream_id = s.id order by 1) as revisions
  from event_streams s join config_states t on t.stream_id = s.id join cities c on c.stream_id = s.id`;

interface Row {
  readonly city: string;
  readonly running: boolean;
  readonly revision: number;
  readonly rejected: boolean;
  readonly held: number;
  readonly revisions: number[];
  readonly [column: string]: unknown;
}

/** What a killed process held is let go at once: otherwise every kill stops the changes of a city for longer than a run lasts. */
export async function letGo(postgres: ChaosPostgres, database: string, pid: number): Promise<void> {
  const sql = `update config_edits set expires_at = clock_timestamp() where split_part(reverse(owner), '-', 2) = reverse($1)`;
  for (let tries = 0; tries < 20; tries++) {
    const done = await postgres.query(sql, [String(pid)], database).catch(() => undefined);
    if (done !== undefined) return;
    await sleep(200);
  }
}

/** Waits until nobody holds an edit and every running city has what its files say; answers all that is to be judged. */
export async function readConfigs(
  postgres: ChaosPostgres,
  database: string,
  apis: readonly Member[],
  random: Random,
  recorder: Recorder,
  { root, edited }: { root: string; edited: readonly string[] },
): Promise<{ ends: ConfigEnd[]; views: ConfigView[] }> {
  const limit = performance.now() + WITHIN_MS;
  let rows: Row[];
  const said = new Map<string, { valid: boolean; differences: number }>();
  for (;;) {
    rows = await postgres.query<Row>(ROWS, [], database);
    for (const { city, running } of rows) {
      const known = said.get(city);
      if (running && !(known?.valid === true && known.differences === 0)) said.set(city, await filesSaid(random.pick(apis), city));
    }
    const quiet = rows.every((row) => row.held === 0 && (!row.running || !row.rejected));
    if (quiet && [...said.values()].every(({ valid, differences }) => valid && differences === 0)) break;
    if (performance.now() > limit) break;
    await sleep(200);
  }
  const ends: ConfigEnd[] = [];
  for (const { city, running, ...row } of await postgres.query<Row>(ROWS, [], database))
    ends.push({ city, ...row, ...(running ? said.get(city) : {}), ...(await onDisk(`${root}/${city}`)) });
  const views: ConfigView[] = [];
  for (const { city, running } of rows) {
    if (!running) continue;
    for (const replica of edited.includes(city) ? apis : [random.pick(apis)]) {
      views.push(await until(() => composedView(replica, city, recorder), `${replica.name} does not show ${city}`));
      views.push(await until(() => listedView(replica, city, recorder), `the lists of ${city} keep moving at ${replica.name}`));
    }
  }
  return { ends, views };
}

async function filesSaid(replica: Member, city: string): Promise<{ valid: boolean; differences: number }> {
  const [validated, diffed] = await Promise.all(
    ['validate', 'diff'].map((path) => ask('GET', `${replica.url}/v0/city/${city}/config/${path}`)),
  );
  if (validated?.status !== 200 || diffed?.status !== 200) return { valid: false, differences: -1 };
  const { valid } = JSON.parse(validated.body) as { valid: boolean };
  const { total, errors } = JSON.parse(diffed.body) as { total: number; errors?: string[] };
  return { valid, differences: total + (errors?.length ?? 0) };
}

type Facts = Pick<ConfigEnd, 'temporaries' | 'aside' | 'files' | 'disk' | 'halves'>;
type Entry = Readonly<Record<string, unknown>>;

/** The files of a city, read without the product. */
async function onDisk(dir: string): Promise<Facts> {
  const names = await readdir(dir, { recursive: true }).catch(() => []);
  const files: Record<string, string> = {};
  const put = (key: string, value: unknown): void => {
    if (typeof value === 'string' && isShown(key.split(' ').at(-1)!, value)) files[key] = value;
  };
  const city = await document(`${dir}/city.toml`);
  for (const [name, provider] of Object.entries((city.providers ?? {}) as Record<string, Entry>))
    put(`provider ${name} display_name`, provider.display_name);
  for (const [kind, key] of [
    ['agent', 'tmux_alias'],
    ['rigs', 'default_branch'],
    ['providers', 'prompt_flag'],
  ] as const)
    for (const patch of (city.patches as Record<string, Entry[]> | undefined)?.[kind] ?? [])
      put(`patch ${kind} ${String(patch.name)} ${key}`, patch[key]);
  const rigs = ((city.rigs ?? []) as Entry[]).map(({ name }) => String(name));
  const bindings = (((await document(`${dir}/.gc/site.toml`)).rig ?? []) as Entry[]).map(({ name, path }) => [String(name), path] as const);
  for (const [name, path] of bindings) put(`rig ${name} path`, path);
  const halves = [
    ...rigs.filter((rig) => !bindings.some(([name]) => name === rig)).map((rig) => `rig ${rig} without its place`),
    ...bindings.filter(([name]) => !rigs.includes(name)).map(([name]) => `the place of rig ${name}`),
  ];
  for (const name of await readdir(`${dir}/agents`).catch(() => [])) {
    const at = `${dir}/agents/${name}`;
    put(`agent ${name} description`, (await document(`${at}/agent.toml`)).description);
    if (!(await isThere(`${at}/prompt.template.md`))) halves.push(`agent ${name} without its prompt`);
  }
  const disk = (city.convergence as { max_total?: number } | undefined)?.max_total;
  return {
    temporaries: names.filter((name) => name.split('/').at(-1)!.startsWith('.svc-')),
    aside: names.flatMap((name) => /^\.gc\/cache\/removed\/[^/]+\/agents\/([^/]+)$/.exec(name)?.[1] ?? []),
    files,
    halves,
    ...(disk === undefined ? {} : { disk }),
  };
}

async function document(file: string): Promise<Entry> {
  return parse(await readFile(file, 'utf8').catch(() => ''));
}

async function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

async function until<T>(look: () => Promise<T | undefined>, otherwise: string): Promise<T> {
  for (let tries = 0; tries < 50; tries++) {
    const found = await look();
    if (found !== undefined) return found;
    await sleep(100);
  }
  throw new Error(otherwise);
}
