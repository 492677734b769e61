import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { ForwardLimits } from '../../src/modules/integrations/services/proxy/forward-places.js';

interface Service {
  readonly image?: string;
  readonly build?: { readonly dockerfile?: string };
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly logging?: { readonly driver: string; readonly options: Readonly<Record<string, string>> };
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes?: Readonly<Record<string, unknown>>;
  readonly networks?: Readonly<Record<string, unknown>>;
}

const text = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const compose = (file: string): Compose => parse(text(file), { merge: true }) as Compose;

const base = compose('docker-compose.yml');
const ha = compose('docker-compose.ha.yml');
const patroni = parse(text('deploy/patroni.yml')) as {
  bootstrap: { dcs: { postgresql: { parameters: Record<string, unknown> } }; post_init: string };
};
const named = (program: string): [string, Service][] => Object.entries(ha.services).filter(([, { command }]) => command?.[0] === program);
const nodes = named('patroni');
const etcds = named('etcd');
/** What Compose says to whoever has set none: where the guide has how to. */
const OWN_PASSWORD = '${SVC_DB_PASSWORD:?a password that agents cannot guess, see docs/how-to/cluster.md#give-the-database-a-password}';
const tagOf = (image: string | undefined): string => image!.slice(image!.indexOf(':'));

it('the guide to the password says with which files the containers are made again', () => {
  const [, section] = text('docs/how-to/cluster.md').split('## Give the database a password');
  const block = /```console\n([^`]*alter role[^`]*)```/.exec(section!)![1]!;
  expect(block).toMatch(/^\$ export COMPOSE_FILE=docker-compose\.yml:docker-compose\.isolation\.yml .*\n[^]*\n\$ docker compose up -d\n$/);
  // Guard: after an upgrade Redis goes on without a password, and all that has one works there.
  expect(section).toContain('\n$ docker compose up -d --no-deps redis\n');
});

/** They are read together: what one of them calls another by has to be so in all of them. */
describe('docker-compose.ha.yml', () => {
  it.each(['ha', 'tls', 'isolation'])('(%s) changes services that there are, and repeats nothing of them', (name) => {
    for (const [service, changed] of Object.entries(compose(`docker-compose.${name}.yml`).services)) {
      const before = base.services[service];
      if (before === undefined) expect([service, name]).toEqual([service, 'ha']);
      // Another image is another service: it says all of itself.
      if (changed.image !== undefined) continue;
      for (const key of Object.keys(before ?? {}) as (keyof Service)[])
        if (changed[key] !== undefined && key !== 'environment')
          expect([service, key, changed[key]]).not.toEqual([service, key, before![key]]);
      for (const [variable, value] of Object.entries(before?.environment ?? {}))
        expect([service, variable, changed.environment?.[variable]]).not.toEqual([service, variable, value]);
    }
  });

  it('names all nodes to the service, with the account and the database that they have', () => {
    const { POSTGRES_USER, POSTGRES_DB } = base.services.postgres!.environment!;
    const hosts = nodes.map(([name]) => name).join(',');
    const url = `postgres://${POSTGRES_USER}:${OWN_PASSWORD}@${hosts}/${POSTGRES_DB}?target_session_attrs=read-write`;
    for (const [service, { environment }] of Object.entries(base.services))
      if (environment?.SVC_DATABASE_URL !== undefined)
        expect([service, ha.services[service]?.environment]).toEqual([service, { SVC_DATABASE_URL: url }]);
    expect(patroni.bootstrap.post_init).toContain(`create database ${POSTGRES_DB}'`);
    for (const [, { environment }] of nodes)
      for (const account of ['SUPERUSER', 'REPLICATION', 'RESTAPI'])
        expect([environment![`PATRONI_${account}_USERNAME`], environment![`PATRONI_${account}_PASSWORD`]]).toEqual([
          POSTGRES_USER,
          OWN_PASSWORD,
        ]);
  });

  // Guard: an agent, which reaches what its worker reaches, has another node lead.
  it('has etcd where only the nodes reach it', () => {
    for (const [name, { networks }] of etcds) expect([name, networks]).toEqual([name, ['nodes']]);
    for (const [name, { networks }] of nodes) expect([name, networks]).toEqual([name, ['default', 'nodes']]);
    expect(Object.keys(ha.networks!)).toEqual(['nodes']);
    for (const service of [...Object.values(base.services), ha.services.worker!, ha.services.api!])
      expect(service.networks).toBeUndefined();
  });

  it('gives the nodes what the one server has: settings, and its files to the first', () => {
    const settings = base.services.postgres!.command!.filter((word) => word.includes('='));
    expect(Object.entries(patroni.bootstrap.dcs.postgresql.parameters).map(([name, value]) => `${name}=${String(value)}`)).toEqual(
      expect.arrayContaining(settings),
    );
    expect(ha.services.postgres!.volumes).toBeUndefined();
    // Guard: a dump of a standby, as the guide has it, is cancelled after half a minute.
    expect(patroni.bootstrap.dcs.postgresql.parameters).toMatchObject({ hot_standby_feedback: 'on' });
  });

  it('has an odd number of nodes that know each other, each with files of its own and of one image', () => {
    expect([nodes.length, etcds.length]).toEqual([3, 3]);
    const kept = [...nodes.slice(1), ...etcds].flatMap(([, { volumes }]) => volumes!.map((volume) => volume.split(':')[0]!));
    expect([...kept].sort()).toEqual(Object.keys(ha.volumes!).sort());
    for (const [name, { environment, image, build }] of nodes) {
      expect([name, environment]).toMatchObject([
        name,
        {
          PATRONI_NAME: name,
          PATRONI_RESTAPI_CONNECT_ADDRESS: `${name}:8008`,
          PATRONI_POSTGRESQL_CONNECT_ADDRESS: `${name}:5432`,
          PATRONI_ETCD_HOSTS: etcds.map(([etcd]) => `${etcd}:2379`).join(','),
        },
      ]);
      expect(build!.dockerfile).toBe('deploy/patroni.Dockerfile');
      expect([image, tagOf(image)]).toEqual([nodes[0]![1].image, tagOf(base.services.api!.image)]);
    }
    const members = etcds.map(([name]) => `${name}=http://${name}:2380`).join(',');
    for (const [name, { environment }] of etcds)
      expect([name, environment]).toMatchObject([
        name,
        { ETCD_NAME: name, ETCD_ADVERTISE_CLIENT_URLS: `http://${name}:2379`, ETCD_INITIAL_CLUSTER: members },
      ]);
  });

  // Guard: the log of what runs for long fills the disk, with a line for each request.
  it.each([
    ['docker-compose.yml', base],
    ['docker-compose.ha.yml', ha],
  ])('%s bounds what its services write', (_, { services }) => {
    // Without an image of its own a service has what the file before it says.
    for (const [name, { image, logging }] of Object.entries(services))
      if (image !== undefined)
        expect([name, logging]).toEqual([name, { driver: 'json-file', options: { 'max-size': '50m', 'max-file': '5' } }]);
  });

  it('can send its image what that copies', () => {
    const copied = [...text('deploy/patroni.Dockerfile').matchAll(/^COPY (\S+)/gm)].map(([, file]) => file!);
    expect(copied).toEqual(['deploy/patroni.yml']);
    for (const file of copied) expect(text('.dockerignore').split('\n')).toContain(`!${file}`);
  });
});

// Guard: an agent puts jobs into Redis, or takes those of others away.
it('has Redis ask for the password that the service and its own health check show', () => {
  const { command, environment } = base.services.redis!;
  const password = '${SVC_REDIS_PASSWORD:-}';
  expect(command![command!.indexOf('--requirepass') + 1]).toBe(password);
  expect(environment).toEqual({ REDISCLI_AUTH: password });
  // `redis-cli -u`, which `svc doctor` advises, signs in as nobody where the address has no name.
  for (const name of ['migrate', 'api', 'worker'])
    expect([name, base.services[name]!.environment!.SVC_REDIS_URL]).toEqual([name, `redis://default:${password}@redis:6379`]);
});

// Guard: walls around an agent that knows the password of the database's superuser are none.
it('asks for a password of its own where agents are isolated, by way of the variable that the service reads', () => {
  const isolated = compose('docker-compose.isolation.yml').services;
  expect(isolated.postgres!.environment).toEqual({ POSTGRES_PASSWORD: OWN_PASSWORD });
  for (const { redis } of [isolated, ha.services])
    expect(redis!.environment).toEqual({ REDISCLI_AUTH: OWN_PASSWORD.replace('SVC_DB_PASSWORD', 'SVC_REDIS_PASSWORD') });
  expect(base.services.worker!.environment!.SVC_DATABASE_URL).toContain(':${SVC_DB_PASSWORD:-svc}@');
  const [page, heading] = /docs\S+(?=})/.exec(OWN_PASSWORD)![0].split('#');
  const headings = [...text(page!).matchAll(/^## (.+)$/gm)].map(([, words]) => words!.toLowerCase().replaceAll(' ', '-'));
  expect(headings).toContain(heading);
  // It is written there, beside the files that are committed.
  expect(text('.gitignore').split('\n')).toContain('.env');
});

// Guard: Node waits for no children but its own, and what agents leave behind stays until no process can begin any more.
it('has a first process in the image that reaps, before whatever is run', () => {
  const image = text('Dockerfile');
  const entry = /^ENTRYPOINT (\[.*\])$/m.exec(image)?.[1] ?? '[]';
  expect(JSON.parse(entry)).toEqual(['/usr/bin/tini', '-s', '--']);
  expect(image).toMatch(/apt-get install .*\btini\b/);
  expect(text('deploy/worker.Dockerfile')).not.toContain('ENTRYPOINT');
  for (const service of Object.values(base.services)) expect(service).not.toHaveProperty('entrypoint');
  expect(text('deploy/helm/supervisor-control-plane/templates/worker.yaml')).not.toMatch(/^ +command:/m);
});

/** How many of the commands of a step are called where the one that says so fails. */
function calledOf(page: string, heading: string, first: string, fails: string): number {
  const [, section] = text(page).split(heading);
  const step = section!
    .split('\n$ ')
    .find((typed) => typed.startsWith(first))!
    .replace(/< \S+/g, '');
  const docker = `docker() { echo "$*"; case "$*" in *'${fails}'*) return 1; esac; }`;
  const done = execFileSync('sh', ['-c', `${docker}\nleader=one before=before_1 epoch=1\n${step} || true`], { encoding: 'utf8' });
  return done.trim().split('\n').length;
}

describe('docs/how-to/high-availability.md', () => {
  // Guard: a database that takes the place of the one that there is, without its files, or with half of a dump, and a service on it.
  it.each([
    ['createdb', 1],
    ['pg_restore', 2],
    ['rename', 3],
    ['mkdir', 4],
    ['tar worker', 5],
    ['migrate', 6],
    ['begin_log_epoch', 7],
  ])('goes no further with a restore whose %s fails', (fails, steps) => {
    const first = 'docker compose exec -T $leader createdb';
    expect(calledOf('docs/how-to/high-availability.md', '## Restore it', first, fails)).toBe(steps);
  });
});

describe('docs/how-to/backup.md', () => {
  // Guard: a service on an empty database, or without the files of its cities.
  it.each([
    ['down -v', 1],
    ['tar postgres', 2],
    ['tar worker', 3],
    ['up -d postgres', 4],
    ['migrate', 6],
    ['begin_log_epoch', 7],
  ])('goes no further with a restore of a cluster whose %s fails', (fails, steps) => {
    expect(calledOf('docs/how-to/backup.md', '## A cluster', 'docker compose down -v', fails)).toBe(steps);
  });
});

describe('docs/how-to/upgrade.md', () => {
  it('waits until a replica is healthy, and takes none that is not for one', () => {
    const counts = /\| (grep [^)]*)\)"/.exec(text('docs/how-to/upgrade.md'))![1]!;
    const states = ['healthy', 'unhealthy', 'starting'].map((state) => `${state}\n`).join('');
    expect(execFileSync('sh', ['-c', counts], { input: states, encoding: 'utf8' })).toBe('1\n');
  });
});

describe('what stands before the replicas', () => {
  const gibibytes = (said: string | undefined): number => Number(/^(\d+)g$/.exec(said ?? '')?.[1]) * 1024 ** 3;
  const most = new ForwardLimits().body;

  // An event stream holds two connections, each of which is a file; a worker of nginx has the limit of who starts it, often 1024.
  it.each(['nginx.conf', 'nginx.tls.conf'])('(%s) may open as many files as it has connections, and some', (file) => {
    const said = (name: string): number => Number(new RegExp(`^ *${name} (\\d+);$`, 'm').exec(text(`deploy/${file}`))?.[1]);
    expect(said('worker_rlimit_nofile')).toBeGreaterThan(said('worker_connections'));
  });

  // nginx says its own otherwise, which the page would take for that of the service.
  it('passes on the clock of the replicas', () => {
    const [, all] = /location \/ \{([^]*?)location ~/.exec(text('deploy/nginx.conf'))!;
    expect(all).toContain('proxy_pass_header Date;');
  });

  // Guard: services of cities take what the documents say, whoever passes it on.
  it('takes bodies for services of cities as large as a replica does', () => {
    const [, services] = /location ~ \^\/v0\/city\/\[\^\/\]\+\/svc\/ \{([^}]*)\}/.exec(text('deploy/nginx.conf'))!;
    expect(gibibytes(/client_max_body_size (\S+);/.exec(services!)?.[1])).toBe(most);
    expect(services).toContain('proxy_request_buffering off;');
    const ingress = text('deploy/helm/supervisor-control-plane/templates/ingress.yaml');
    expect(gibibytes(/proxy-body-size: (\S+)/.exec(ingress)?.[1])).toBe(most);
    expect(ingress).toContain("proxy-request-buffering: 'off'");
  });
});
